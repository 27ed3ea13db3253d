"""What one file defines, as a tree."""

import asyncio
from collections.abc import Sequence

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.symbol import VALUES, Packed, Symbol, unpack
from smith_server.core.errors import ToolRefusal
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.tools.code_outline import OutlineArguments
from smith_server.tools.plain import shown
from smith_server.tools.room import Room, counted

_MOST_LINES = 400
ROUGH = "by the look of its lines: too large, or too slow, to be taken apart by its grammar"


async def answer(explorer: Explorer, args: OutlineArguments, context: ToolContext) -> ToolResult:
    """The definitions as a tree, in the order of the file."""
    area = await asyncio.to_thread(explorer.area, args.path, context.cwd)
    if not area.file:
        raise ToolRefusal("is_directory", f"{area.place.name} is a directory. code_map shows what is in it.")
    found = await explorer.outline(area)
    if found.packed is None:
        return ToolResult(f"{area.place.name} {found.why}: code_grep finds lines of it.", "no definitions")
    return await asyncio.to_thread(_told, found.packed)


def _told(packed: Packed) -> ToolResult:
    """Blocking: there may be very many."""
    symbols = list(unpack(packed))
    if not symbols:
        rough = f"\n[{ROUGH}]" if packed.rough else ""
        return ToolResult(f"Nothing is defined here, as far as can be seen.{rough}", "no definitions")
    chosen = _chosen(symbols)
    room = Room(_MOST_LINES + 1)
    told = sum(room.add(_line(symbol)) for symbol in chosen)
    return ToolResult(
        room.text(_left_out(len(symbols) - told), ROUGH if packed.rough else ""), counted(len(symbols), "definition")
    )


def _chosen(symbols: Sequence[Symbol]) -> Sequence[Symbol]:
    """All of them if there is room, else without values, else only what lies less deep."""
    if len(symbols) <= _MOST_LINES:
        return symbols
    solid = [symbol for symbol in symbols if symbol.kind not in VALUES] or list(symbols)
    for depth in (3, 2, 1, 0):
        kept = [symbol for symbol in solid if symbol.depth <= depth]
        if len(kept) <= _MOST_LINES:
            return kept or solid
    return [symbol for symbol in solid if symbol.depth == 0] or solid


def _line(symbol: Symbol) -> str:
    lines = f"{symbol.line}-{symbol.end}" if symbol.end > symbol.line else str(symbol.line)
    return f"{'  ' * symbol.depth}{lines} {shown(symbol.text)}"


def _left_out(count: int) -> str:
    return f"{counted(count, 'definition')} left out: code_symbols with this path finds them by name" if count else ""
