"""Where a name is defined, equal names first."""

import asyncio
from collections.abc import Iterator, Sequence

from smith_server.codebase.area import Area
from smith_server.codebase.explorer import Explorer
from smith_server.codebase.matching import Answer, Place, question
from smith_server.codebase.worker import MOST_BYTES
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.tools.code_symbols import MOST, SymbolsArguments
from smith_server.tools.plain import shown
from smith_server.tools.room import Room, counted

_NAMED = 3
"""Files that are named in a note."""


async def answer(explorer: Explorer, args: SymbolsArguments, context: ToolContext) -> ToolResult:
    """Path, lines, kind and first line of each definition; equal names first."""
    area = await asyncio.to_thread(explorer.area, args.path, context.cwd)
    asked = question(args.query, args.kind, args.limit)
    found = await explorer.symbols(asked, area, context.progress)
    if not found.places:
        said = "Nothing of this name is defined here. code_grep finds uses, and text in files without a grammar."
        return ToolResult("\n".join([said, *(f"[{note}]" for note in _notes(area, found))]), "none")
    room = Room(args.limit)
    for place in found.places:
        if not room.add(_line(area, place)):
            break
    return ToolResult(
        room.text(_left_out(found, len(room.lines)), *_notes(area, found)), counted(found.total, "definition")
    )


def _line(area: Area, place: Place) -> str:
    symbol = place.symbol
    lines = f"{symbol.line}-{symbol.end}" if symbol.end > symbol.line else str(symbol.line)
    inside = f" of {shown(symbol.parent)}" if symbol.parent else ""
    return f"{area.shown(place.path)}:{lines}: {symbol.kind}{inside}: {shown(symbol.text)}"


def _left_out(found: Answer, told: int) -> str:
    left = found.total - told
    if left <= 0:
        return ""
    return f"{counted(left, 'more definition')} left out: narrow query, kind or path, or raise limit (up to {MOST})"


def _notes(area: Area, found: Answer) -> Iterator[str]:
    """Which files were not looked at as the others."""
    if found.unread:
        yield f"{counted(found.unread, 'file')} could not be looked at in time: name a path"
    if found.large:
        yield f"not looked at, because larger than {MOST_BYTES >> 20} MiB: {_named(area, found.large)}"
    if found.rough:
        yield f"only the look of lines counts in {_named(area, found.rough)}: a grammar takes too long there"


def _named(area: Area, paths: Sequence[str]) -> str:
    names = ", ".join(shown(area.shown(path)) for path in paths[:_NAMED])
    return f"{names} and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else names
