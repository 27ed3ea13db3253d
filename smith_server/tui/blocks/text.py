"""An answer of the model: markdown, from any line on."""

from typing import NamedTuple

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.blocks import markdown
from smith_server.tui.state import Words
from smith_server.tui.theme import Painter


class Part(NamedTuple):
    """Rows of source lines, and the line to go on with."""

    rows: list[Text]
    next: int


def plain(block: Words, width: int) -> list[str]:
    """Its lines as they were written."""
    return list(block.body.shown())


def whole(block: Words, begin: int, width: int, painter: Painter) -> Part:
    """The rows of what will not change any more, from source line `begin` on.

    Blank lines wait for what follows them, a table for its end.
    """
    body = block.body
    end = body.span().stop if block.settled else len(body.lines) - 1
    at = max(begin, body.span().start) if begin == 0 else begin
    made: list[Text] = []
    while at < end:
        stop = _piece(block, at, end)
        if stop is None:
            break
        made += _rows(block, at, stop, width, painter)
        at = stop
    return Part(made, at)


def growing(block: Words, begin: int, width: int, painter: Painter) -> list[Text]:
    """The rows from source line `begin` on, as far as they go."""
    stop = max(begin, block.body.span().stop)
    at = max(begin, block.body.span().start) if begin == 0 else begin
    lines = block.body.lines[at:stop]
    if not any(line.strip() for line in lines):
        return []
    return _rows(block, at, stop, width, painter)


def _piece(block: Words, at: int, end: int) -> int | None:
    """Where the piece ends that begins with line `at`; None when that is not known yet."""
    lines, code = block.body.lines, block.body.code
    stop = at + 1
    if not lines[at].strip():
        filled = (after for after in range(at, end) if lines[after].strip())
        return next(filled, None)
    if code[at] or not markdown.is_row(lines[at]):
        return stop
    while stop < end and markdown.is_row(lines[stop]) and not code[stop]:
        stop += 1
    return stop if stop < end or block.settled else None


def _rows(block: Words, begin: int, end: int, width: int, painter: Painter) -> list[Text]:
    lines, code = block.body.lines, block.body.code
    made: list[Text] = []
    at = begin
    while at < end:
        if code[at]:
            made += painter.wrapped(markdown.code(theme.clean(lines[at])), width)
        elif markdown.is_row(lines[at]):
            stop = next((row for row in range(at, end) if not markdown.is_row(lines[row]) or code[row]), end)
            made += markdown.table(lines[at:stop], width)
            at = stop
            continue
        else:
            row, hanging = markdown.styled(theme.clean(lines[at]), width)
            made += painter.wrapped(row, width, hanging)
        at += 1
    return made
