"""The only writer to the terminal: one write for each frame."""

import fcntl
import os
import select
import struct
import termios
from contextlib import suppress
from typing import NamedTuple


class Size(NamedTuple):
    """Cells of the terminal."""

    columns: int
    rows: int


class Tty:
    """A terminal by its file descriptor. `written` counts bytes. Once it is gone, nothing is written any more."""

    def __init__(self, number: int) -> None:
        self.written = 0
        self.is_gone = False
        self._number = number

    def size(self) -> Size:
        """How large it is now; 80 by 24 when it does not say."""
        try:
            packed = fcntl.ioctl(self._number, termios.TIOCGWINSZ, b"\0" * 8)
        except OSError:
            packed = b"\0" * 8
        rows, columns, _, _ = struct.unpack("HHHH", packed)
        return Size(columns or 80, rows or 24)

    def write(self, text: str) -> None:
        """All of `text`, at once."""
        data = text.encode("utf-8", "replace")
        while data and not self.is_gone:
            data = data[self._some(data) :]

    def _some(self, data: bytes) -> int:
        try:
            count = os.write(self._number, data)
        except BlockingIOError:
            with suppress(OSError):
                select.select([], [self._number], [], 1.0)
            return 0
        except OSError:
            self.is_gone = True
            return 0
        self.written += count
        return count
