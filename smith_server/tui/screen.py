"""The live region: rows that stand below the scrollback and are drawn again when they change.

Positions are relative: nothing is known of the terminal but where the cursor stands within these rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from smith_server.tui.theme import Painter, cut
from smith_server.tui.tty import Size, Tty

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
"""A terminal that knows them shows what lies between as one."""

_DOWN = "\x1b[J"
_RIGHT = "\x1b[K"
_CLEAR = "\x1b[H\x1b[2J"


class Frame(NamedTuple):
    """What the live region shows, and the cell of the cursor in it."""

    rows: Sequence[Text]
    row: int
    column: int


class Screen:
    """Draws frames on a terminal, at most one write each, none when nothing changed."""

    def __init__(self, tty: Tty, painter: Painter) -> None:
        self._tty = tty
        self._painter = painter
        self._rows: list[str] = []
        self._lengths: list[int] = []
        self._cursor = (0, 0)
        self._width = 0

    def draw(self, finished: Sequence[Text], frame: Frame, *, clear: bool = False) -> None:
        """Put `finished` into the scrollback and `frame` below it; `clear` begins on an empty screen."""
        size = self._tty.size()
        begin = _first(frame, size)
        shown = [cut(row, size.columns) for row in frame.rows[begin : begin + _most(size)]]
        rows = [self._painter.ansi(row) for row in shown]
        cursor = (min(frame.row - begin, max(len(rows) - 1, 0)), min(frame.column, size.columns - 1))
        if clear or finished or size.columns != self._width or not self._rows:
            body = self._whole(finished, rows, size.columns, clear=clear)
        elif rows == self._rows and cursor == self._cursor:
            return
        else:
            body = self._difference(rows)
        self._rows, self._lengths, self._width = rows, [row.cell_len for row in shown], size.columns
        self._tty.write(f"{BEGIN}{body}{self._to(cursor, max(len(rows) - 1, 0))}{END}")
        self._cursor = cursor

    def erase(self) -> None:
        """Take the live region away; the next frame begins where the cursor stands."""
        drawn = self._top(self._tty.size().columns) + _DOWN if self._rows else ""
        # Before the write: who ends the process amid this must not erase what stands above as well.
        self.forget()
        self._tty.write(drawn)

    def forget(self) -> None:
        """Somebody else has written: what was drawn is not there any more."""
        self._rows, self._lengths, self._cursor = [], [], (0, 0)

    def _whole(self, finished: Sequence[Text], rows: Sequence[str], width: int, *, clear: bool) -> str:
        begin = _CLEAR if clear else self._top(width) + _DOWN
        above = "".join(f"{self._painter.ansi(row)}\r\n" for row in finished)
        return begin + above + "\r\n".join(rows)

    def _difference(self, rows: Sequence[str]) -> str:
        """Only the rows that are not the same; ends in the last row."""
        parts = [self._top(self._width)]
        kept = min(len(rows), len(self._rows))
        at = 0
        for index in [index for index in range(kept) if rows[index] != self._rows[index]]:
            parts.append(f"{_move(index - at)}\r{rows[index]}{_RIGHT}")
            at = index
        if len(rows) > kept:
            parts.append(_move(kept - 1 - at))
            parts += [f"\r\n{row}" for row in rows[kept:]]
        else:
            parts.append(_move(kept - 1 - at))
            parts.append(f"\r\n{_DOWN}\x1b[A" if len(self._rows) > kept else "")
        return "".join(parts)

    def _top(self, width: int) -> str:
        """From the cursor to the first cell. A terminal that got narrower has broken our rows in the meantime."""
        row, column = self._cursor
        if width < self._width:
            row = sum(_broken(length, width) for length in self._lengths[:row]) + min(column, self._width) // width
        return f"\r{_up(row)}"

    def _to(self, cursor: tuple[int, int], last: int) -> str:
        row, column = cursor
        return f"\r{_up(last - row)}" + (f"\x1b[{column}C" if column else "")


def _first(frame: Frame, size: Size) -> int:
    """The first row for which there is room; that of the cursor is always in sight."""
    return min(max(len(frame.rows) - _most(size), 0), frame.row)


def _most(size: Size) -> int:
    return max(size.rows - 1, 1)


def _broken(length: int, width: int) -> int:
    return max(1, -(-length // width))


def _up(count: int) -> str:
    return f"\x1b[{count}A" if count > 0 else ""


def _move(count: int) -> str:
    return f"\x1b[{count}B" if count > 0 else _up(-count)
