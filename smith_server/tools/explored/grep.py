"""Matching lines, ranked and folded, within a budget that says what was left out."""

import asyncio
from collections.abc import Iterator

from smith_server.codebase.area import Area
from smith_server.codebase.explorer import Explorer
from smith_server.codebase.grep import Found, Wish
from smith_server.codebase.selection import Folded, Part, Selection, select
from smith_server.core.errors import ToolRefusal
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.tools.code_grep import MOST, GrepArguments
from smith_server.tools.plain import shown
from smith_server.tools.room import Room, around, counted
from smith_server.workspace.text import content_of, lines_of

_NOTHING = "No line matches. Ignored and hidden files were not searched: name one as path to search it."
_LITERAL = "the pattern is no valid regular expression and was searched as plain text"
_CUT = "the search was ended at its time limit: there may be more. Name a folder or a glob"


async def answer(explorer: Explorer, args: GrepArguments, context: ToolContext) -> ToolResult:
    """The lines, best first; that there are none is a good result too."""
    if "\0" in args.pattern:
        raise ToolRefusal("invalid_pattern", "The pattern holds a NUL character, which no text has.")
    area = await asyncio.to_thread(explorer.area, args.path, context.cwd)
    wish = Wish(args.pattern, args.glob, args.ignore_case)
    found = await explorer.search(wish, area, args.max)
    if not found.files:
        notes = [f"[{note}]" for note in _notes(found) if note]
        return ToolResult("\n".join([_NOTHING, *notes]), "no match")
    selection = select(found, args.max)
    room = Room(args.max * (2 + 2 * args.context))
    summary = f"{counted(found.line_count, 'line')} in {counted(found.file_count, 'file')}"
    room.add(summary)
    unseen = await _fill(explorer, room, area, selection, args.context)
    return ToolResult(room.text(_left_out(selection, unseen), *_notes(found)), summary)


async def _fill(explorer: Explorer, room: Room, area: Area, selection: Selection, context: int) -> int:
    """Put in what fits; the number of lines that were chosen and did not."""
    for index, part in enumerate(selection.parts):
        lines = list(_lines(part)) if not context else await _with_context(explorer, area, part, context)
        head, tail = f"{area.shown(part.path)}:", list(_tail(area, part))
        if room.add(head, *lines, *tail):
            continue
        fitting = len(lines)
        while fitting and not room.add(head, *lines[:fitting]):
            fitting //= 2
        rest = [each for other in selection.parts[index:] for each in other.folded]
        return sum(len(each.numbers) for each in rest) - fitting
    return 0


async def _with_context(explorer: Explorer, area: Area, part: Part, context: int) -> list[str]:
    try:
        lines = lines_of(await explorer.text(area, part.path))
    except ToolRefusal:  # gone, or no text, since it was searched
        return list(_lines(part))
    hits = {number for each in part.folded for number in each.numbers}
    near = {number for hit in hits for number in range(max(hit - context, 1), min(hit + context, len(lines)) + 1)}
    shown_lines: list[str] = []
    last = 0
    for number in sorted(near):
        if last and number > last + 1:
            shown_lines.append("  --")
        last = number
        text = around(shown(content_of(lines[number - 1])), 0)
        shown_lines.append(f"  {number}{':' if number in hits else '-'} {text}")
    return shown_lines


def _lines(part: Part) -> Iterator[str]:
    for each in part.folded:
        indent = len(each.line.text) - len(each.line.text.lstrip())
        text = around(shown(each.line.text.strip()), each.line.at - indent)
        yield f"  {_numbers(each)}: {text}"


def _numbers(each: Folded) -> str:
    first = ",".join(map(str, each.numbers[:8]))
    more = len(each.numbers) - 8
    return f"{first} and {more} more" if more > 0 else first


def _tail(area: Area, part: Part) -> Iterator[str]:
    if part.left_out:
        yield f"  [{part.left_out:,} more here]"
    if part.copies:
        named = ", ".join(area.shown(path) for path in part.copies[:3])
        more = len(part.copies) - 3
        yield f"  [the same in {named}{f' and {more} more' if more > 0 else ''}]"


def _left_out(selection: Selection, unseen: int) -> str:
    if not selection.files_left_out and not unseen:
        return ""
    lines = selection.lines_left_out + unseen
    where = f" in {counted(selection.files_left_out, 'more file')}" if selection.files_left_out else ""
    return f"{counted(lines, 'more line')}{where} left out: narrow path, glob or pattern, or raise max (up to {MOST})"


def _notes(found: Found) -> tuple[str, str]:
    return _LITERAL if found.literal else "", "" if found.whole else _CUT
