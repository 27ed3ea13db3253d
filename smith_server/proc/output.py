"""What is kept of a command's output, however much there is: its head and its tail."""

from msgspec import Struct

from smith_server.proc.clean import clean

_LINE_SEARCH = 4096
"""Bytes at a cut that are given up to have whole lines on both sides of it."""


class Output(Struct, frozen=True):
    """Clean text of a command. `tail` is empty when nothing was left out, else it follows a gap.

    `size` and `lines` count all that was written, raw bytes and newlines (a last line without one
    counts too); `bytes_left_out` and `lines_left_out` are what lies in the gap.
    """

    head: str
    tail: str = ""
    size: int = 0
    lines: int = 0
    bytes_left_out: int = 0
    lines_left_out: int = 0


class Piece(Struct, frozen=True):
    """Bytes of an output, the first of which is at `start`; before it there may be a gap."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class Kept:
    """Takes any amount of bytes, keeps the first and the last `limit / 2` of them."""

    def __init__(self, limit: int) -> None:
        self._room = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._newlines = 0
        self._last = b""

    def feed(self, piece: bytes) -> None:
        """Add `piece`; costs no more memory than three times the limit."""
        if not piece:
            return
        self._size += len(piece)
        self._newlines += piece.count(b"\n")
        self._last = piece[-1:]
        free = self._room - len(self._head)
        self._head += piece[:free]
        self._tail += piece[free:][-self._room :]
        if len(self._tail) > 2 * self._room:
            del self._tail[: -self._room]

    @property
    def size(self) -> int:
        """Bytes that were written in all."""
        return self._size

    @property
    def lines(self) -> int:
        """Lines that were written in all; a last one without its end counts."""
        return self._newlines + (self._last not in (b"", b"\n"))

    def read(self, since: int, most: int) -> Piece:
        """At most `most` bytes from the place `since` on, or from behind the gap when it lies in there."""
        if since < len(self._head):
            return Piece(since, bytes(self._head[since : since + most]))
        tail = self._tail[-self._room :]
        begin = self._size - len(tail)
        start = max(since, begin)
        return Piece(start, bytes(tail[start - begin :][:most]))

    def output(self) -> Output:
        """What there is so far, as text; a cut never splits a character."""
        lines = self.lines
        head, tail = bytes(self._head), bytes(self._tail[-self._room :])
        if len(head) + len(tail) == self._size:
            return Output(clean(head + tail), size=self._size, lines=lines)
        head, tail = head[: _end_of_head(head)], tail[_start_of_tail(tail) :]
        return Output(
            clean(head),
            clean(tail),
            self._size,
            lines,
            self._size - len(head) - len(tail),
            self._newlines - head.count(b"\n") - tail.count(b"\n"),
        )


def _end_of_head(data: bytes) -> int:
    newline = data.rfind(b"\n", max(len(data) - _LINE_SEARCH, 0))
    return newline + 1 if newline >= 0 else end_of_characters(data)


def _start_of_tail(data: bytes) -> int:
    newline = data.find(b"\n", 0, _LINE_SEARCH)
    if 0 <= newline < len(data) - 1:
        return newline + 1
    return start_of_characters(data)


def end_of_characters(data: bytes) -> int:
    """Where `data`, cut anywhere, has to end so that no UTF-8 character is split."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) if length <= back else len(data) - back
        if byte < 0x80:
            break
    return len(data)


def start_of_characters(data: bytes) -> int:
    """Where `data`, cut anywhere, has to begin so that no UTF-8 character is split."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return start
