"""Positions of the editor protocol in a text that is held as lines. Pure.

A text is a sequence of lines with their ends kept, in which every line but the last has an end
and the last has none: `"".join(lines)` is the text, `len(lines)` what the protocol counts.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from smith_server.core.errors import AgentFailure, failure

Ends = Literal["lf", "lsp"]
Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LSP_END = re.compile(r"\r\n|\n|\r")
_CODEC = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Counting(Struct, frozen=True):
    """How a client counts.

    `encoding` is the unit of a character. `ends` says what ends a line: `lf` is LF alone (a CR
    before it belongs to the ending, though an editor may count it as text), `lsp` is LF, CRLF and CR.
    """

    encoding: Encoding = "utf-16"
    ends: Ends = "lsp"


class Position(Struct, frozen=True, order=True):
    """A place: line from 0, and units of the agreed encoding from 0 in that line."""

    line: int
    character: int


class Range(Struct, frozen=True):
    """From `start` up to and without `end`."""

    start: Position
    end: Position


class TextEdit(Struct, frozen=True, rename="camel"):
    """Replace `range` by `new_text`."""

    range: Range
    new_text: str


def split_lines(text: str, ends: Ends) -> list[str]:
    """`text` as lines, as described above."""
    if ends == "lf" or "\r" not in text:
        lines = [line + "\n" for line in text.split("\n")]
        lines[-1] = lines[-1][:-1]
        return lines
    lines, start = [], 0
    for match in _LSP_END.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    lines.append(text[start:])
    return lines


def apply_change(lines: Sequence[str], change: Range, new_text: str, counting: Counting) -> list[str]:
    """The lines after one change; costs a copy of the list and the work on the lines it touches.

    Raises `invalid_position` for a place inside a character and for a range that ends before it begins.
    """
    first, head = _place(lines, change.start, counting)
    last, tail = _place(lines, change.end, counting)
    if (last, tail) < (first, head):
        raise _invalid(change.end, "the range ends before it begins")
    before = lines[first][:head]
    if counting.ends == "lsp" and not before and first and lines[first - 1].endswith("\r"):
        first -= 1
        before = lines[first]
    middle = split_lines(before + new_text + lines[last][tail:], counting.ends)
    if last + 1 < len(lines):
        middle.pop()
    return [*lines[:first], *middle, *lines[last + 1 :]]


def offset_of(lines: Sequence[str], position: Position, counting: Counting) -> int:
    """The offset in characters of a position; what lies past a line or the text falls back to its end.

    Raises `invalid_position` for a place inside a character.
    """
    line, column = _place(lines, position, counting)
    return sum(map(len, lines[:line])) + column


def position_of(lines: Sequence[str], offset: int, counting: Counting) -> Position:
    """The position of an offset in characters."""
    return positions_of(lines, [offset], counting)[0]


def positions_of(lines: Sequence[str], offsets: Sequence[int], counting: Counting) -> list[Position]:
    """The positions of several offsets, in one walk over the lines."""
    starts = list(accumulate(map(len, lines[:-1]), initial=0))
    found = []
    for offset in offsets:
        line = bisect_right(starts, offset) - 1
        found.append(Position(line, _units(lines[line][: offset - starts[line]], counting.encoding)))
    return found


def apply_edits(text: str, edits: Sequence[TextEdit], counting: Counting = Counting()) -> str:  # noqa: B008 - frozen
    """`text` after edits whose ranges all mean the text as it was; inserts at one place keep their order.

    Raises `invalid_position` and `overlapping_edits`.
    """
    lines = split_lines(text, counting.ends)
    placed = sorted((_placed(lines, edit, counting) for edit in edits), key=lambda item: item[:2])
    pieces, done = [], 0
    for start, end, new_text in placed:
        if start < done:
            raise failure("protocol", "overlapping_edits", "Two edits of one request overlap; nothing was changed.")
        pieces += [text[done:start], new_text]
        done = end
    return "".join([*pieces, text[done:]])


def _placed(lines: Sequence[str], edit: TextEdit, counting: Counting) -> tuple[int, int, str]:
    start = offset_of(lines, edit.range.start, counting)
    end = offset_of(lines, edit.range.end, counting)
    if end < start:
        raise _invalid(edit.range.end, "the range ends before it begins")
    return start, end, edit.new_text


def _place(lines: Sequence[str], position: Position, counting: Counting) -> tuple[int, int]:
    if position.line < 0 or position.character < 0:
        raise _invalid(position, "it is negative")
    if position.line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return position.line, _column(lines[position.line], position, counting)


def _column(line: str, position: Position, counting: Counting) -> int:
    body = _body(line, counting.ends)
    units = _units(body, counting.encoding)
    if position.character > units:
        return len(body.removesuffix("\r")) if body != line else len(body)
    return position.character if units == len(body) else _characters(body, position, counting.encoding)


def _body(line: str, ends: Ends) -> str:
    """What of a line can be pointed into."""
    if ends == "lf":
        return line.removesuffix("\n")
    return line.removesuffix("\n").removesuffix("\r")


def _characters(body: str, position: Position, encoding: Encoding) -> int:
    codec, width = _CODEC[encoding]
    try:
        return len(body.encode(codec)[: position.character * width].decode(codec))
    except UnicodeError:
        raise _invalid(position, "it lies inside a character") from None


def _units(text: str, encoding: Encoding) -> int:
    if text.isascii() or encoding == "utf-32":
        return len(text)
    codec, width = _CODEC[encoding]
    return len(text.encode(codec, "surrogatepass")) // width


def _invalid(position: Position, why: str) -> AgentFailure:
    place = f"line {position.line}, character {position.character}"
    return failure("protocol", "invalid_position", f"The position ({place}) cannot be used: {why}.")
