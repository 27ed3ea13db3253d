"""Bytes of an event stream to events, as they come. No I/O, and nothing of any vendor's JSON.

An event is complete with its blank line; `close` gives the last one, which may lack it.
"""

import msgspec
from msgspec import Struct

MARK = b"\xef\xbb\xbf"
"""The byte-order mark that may stand before everything."""


_DATA = b"data: "


class Event(Struct, frozen=True, gc=False):
    """One event: its data lines joined by LF, never blank, and its name ("" when it has none)."""

    data: bytes
    name: str = ""


class EventDecoder:
    """Cuts reads of any size into events.

    `comments` counts comment lines, a server's sign of life without content.
    """

    def __init__(self) -> None:
        self.comments = 0
        self._line_size = 0
        self._data_size = 0
        self._started = False
        self._after_cr = False
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = ""
        self._head, self._head_name = _DATA, ""

    @property
    def pending(self) -> int:
        """Bytes held for an event that is not complete."""
        return self._line_size + self._data_size

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes, in order."""
        events: list[Event] = []
        lines = self._whole_lines(chunk)
        if not lines:
            return events
        *blocks, rest = lines.split(b"\n\n")
        if blocks and (self._data or self._name):
            self._block(blocks.pop(0), events)
        for block in blocks:
            data = block[len(self._head) :]
            if block.startswith(self._head) and b"\n" not in data and data and not data.isspace():
                events.append(Event(data, self._head_name))
            else:
                self._block(block, events)
        if rest:
            self._read(rest[:-1], events)
        return events

    def close(self) -> list[Event]:
        """The event that the end of the stream completes, if there is one."""
        events: list[Event] = []
        self._read(b"".join(self._line), events)
        self._line.clear()
        self._end_event(events)
        return events

    def _whole_lines(self, chunk: bytes) -> bytes:
        """What is known to be whole lines, with LF as their only end; keeps the rest."""
        if not self._started:
            chunk = self._without_mark(chunk)
        if not chunk:
            return b""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif chunk:
            self._after_cr = False
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._line.append(chunk)
            self._line_size += len(chunk)
            return b""
        lines = b"".join([*self._line, chunk[:cut]]) if self._line else chunk[:cut]
        self._line = [chunk[cut:]] if cut < len(chunk) else []
        self._line_size = len(chunk) - cut
        return lines

    def _without_mark(self, chunk: bytes) -> bytes:
        start = b"".join(self._line) + chunk
        if len(start) < len(MARK) and MARK.startswith(start):
            self._line = [start]
            return b""
        self._started = True
        self._line = []
        return start.removeprefix(MARK)

    def _read(self, lines: bytes, events: list[Event]) -> None:
        for line in lines.split(b"\n"):
            if line:
                self._field(line)
            else:
                self._end_event(events)

    def _block(self, block: bytes, events: list[Event]) -> None:
        """The lines of an event up to its blank one. The next event most likely begins as this one does."""
        self._read(block, events)
        self._end_event(events)
        line, _, _ = block.partition(_DATA)
        if not line or (line.startswith(b"event: ") and line.find(b"\n") == len(line) - 1):
            self._head, self._head_name = line + _DATA, line[7:-1].decode("utf-8", "replace")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"":
                self.comments += 1
            case b"data":
                self._data.append(value)
                self._data_size += len(value)
            case b"event":
                self._name = value.decode("utf-8", "replace")
            case b"error" if _is_object(value):
                self._data.append(b'{"error":%b}' % value)

    def _end_event(self, events: list[Event]) -> None:
        data, name = b"\n".join(self._data), self._name
        self._data, self._data_size, self._name = [], 0, ""
        if data and not data.isspace():
            events.append(Event(data, name))


def _is_object(value: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(value), dict)
    except (msgspec.DecodeError, UnicodeError):
        return False
