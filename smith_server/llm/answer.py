"""One HTTP response without its socket: status and headers first, then raw bytes in, deltas out."""

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from smith_server.core.ports import Delta, Failed
from smith_server.llm import errors
from smith_server.llm.decoding import Damaged, inflater
from smith_server.llm.presets import Preset
from smith_server.llm.retry_after import retry_after

End = Literal["eof", "reset", "stall"]
"""How a body ended: closed in order, broken off, or silent beyond the limit."""


class Reader(Protocol):
    """What reads the body of a good answer in one dialect."""

    finished: bool
    """Nothing more needs to be read."""
    events: int
    """Data events so far."""
    whole: bool
    """The body is one JSON value, not a stream."""

    @property
    def complete(self) -> bool:
        """The answer said that it has ended; something like usage may follow."""
        ...

    @property
    def comments(self) -> int:
        """Signs of life without content so far."""
        ...

    def feed(self, data: bytes) -> list[Delta]: ...

    def end(self, how: End = "eof") -> list[Delta]:
        """What is left, and `Done` or `Failed` as the last item."""
        ...


class Answer:
    """Decodes a body and hands it to `reader`, or keeps the text of a refusal.

    `headers` have lower-case names. `finished`: nothing more needs to be read.
    """

    def __init__(self, status: int, headers: Mapping[str, str], reader: Reader, preset: Preset) -> None:
        self.status = status
        self.reader = reader
        self._headers = headers
        self._preset = preset
        self._inflate = inflater(headers.get("content-encoding", ""))
        self._damaged = False
        self._body = bytearray()

    @property
    def refused(self) -> bool:
        return not 200 <= self.status < 300

    @property
    def finished(self) -> bool:
        if self._damaged:
            return True
        return len(self._body) >= errors.MOST_BODY if self.refused else self.reader.finished

    def feed(self, raw: bytes) -> list[Delta]:
        """What `raw`, as it came from the wire, adds to the answer."""
        if self.finished:
            return []
        try:
            data = self._inflate(raw)
        except Damaged:
            self._damaged = True
            return []
        if self.refused:
            self._body += data[: errors.MOST_BODY - len(self._body)]
            return []
        return self.reader.feed(data)

    def end(self, how: End = "eof") -> list[Delta]:
        """What is left, and `Done` or `Failed` as the last item."""
        if self.refused:
            return [errors.of_response(self.status, self._headers, bytes(self._body), self._preset)]
        *rest, last = self.reader.end("reset" if self._damaged else how)
        if isinstance(last, Failed) and (wait := retry_after(self._headers)) is not None:
            last = msgspec.structs.replace(last, retry_after=wait)
        return [*rest, last]
