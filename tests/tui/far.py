"""The other end of a terminal in this process: every byte that was written to it, and an emulator's view of them."""

import fcntl
import os
import pty
import struct
import termios
import tty as raw

import pyte

from smith_server.tui.tty import Tty


class Interrupted(Tty):
    """While `ends` a signal comes amid the next write: it is done, what follows it is not."""

    ends = False

    def write(self, text: str) -> None:
        super().write(text)
        if self.ends:
            self.ends = False
            raise InterruptedError


class Far:
    """A terminal of a certain size; `tty` writes to it."""

    def __init__(self, columns: int = 20, rows: int = 6) -> None:
        self._far, self._near = pty.openpty()
        raw.setraw(self._near)
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.tty = Interrupted(self._near)
        self.screen = pyte.HistoryScreen(columns, rows, history=100, ratio=0.001)
        self._stream = pyte.ByteStream(self.screen)
        self._read = 0

    def more(self) -> bytes:
        """All that was written since the last time; it may still be under way."""
        pieces = []
        while self._read < self.tty.written:
            pieces.append(os.read(self._far, 1 << 16))
            self._read += len(pieces[-1])
        return b"".join(pieces)

    def rows(self) -> list[str]:
        """What is in sight."""
        self._stream.feed(self.more())
        return [line.rstrip() for line in self.screen.display]

    def close(self) -> None:
        os.close(self._far)
        os.close(self._near)
