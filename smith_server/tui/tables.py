"""Tables of markdown with their columns under each other, as text. Code stays, and what is indented."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from smith_server.tui.lines import Lines

_RULE = re.compile(r":?-+:?")
_MOST = 80
"""A wider table would break in most windows anyway, the worse the more blanks are in it."""


def aligned(body: Lines) -> Lines:
    """`body` with its tables aligned; itself where there is nothing to do. The number of lines stays."""
    lines = list(body.lines)
    at = 0
    while at < len(lines):
        stop = at
        while stop < len(lines) and lines[stop].startswith("|") and not body.code[stop]:
            stop += 1
        if stop - at > 1 and all(map(_RULE.fullmatch, _cells(lines[at + 1]))):
            lines[at:stop] = _table(lines[at:stop])
        at = max(stop, at + 1)
    return body if lines == body.lines else Lines("\n".join(lines))


def _table(lines: Sequence[str]) -> list[str]:
    head, rule, *rest = map(_cells, lines)
    rows = [head, *rest]
    widths = [max([3, *(cell_len(row[at]) for row in rows if at < len(row))]) for at in range(max(map(len, rows)))]
    if sum(widths[:-1]) + 3 * len(widths) > _MOST:
        return list(lines)
    if sum(widths) + 3 * len(widths) + 1 > _MOST:
        widths[-1] = 3
    rights = {at for at, cell in enumerate(rule) if cell.endswith(":") and not cell.startswith(":")}
    drawn = [_row(_padded(cell, widths[at], at in rights) for at, cell in enumerate(row)) for row in rows]
    return [drawn[0], _row(_ruled(cell, widths[at]) for at, cell in enumerate(rule[: len(widths)])), *drawn[1:]]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]


def _padded(cell: str, width: int, is_right: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return f"{blanks}{cell}" if is_right else f"{cell}{blanks}"


def _ruled(cell: str, width: int) -> str:
    begin, end = cell[:1] == ":", cell[-1:] == ":"
    return f"{':' * begin}{'-' * (width - begin - end)}{':' * end}"
