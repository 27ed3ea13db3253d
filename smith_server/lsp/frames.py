"""The base protocol's frames: bytes in, message bodies out. No I/O, bounded, never out of step.

Source: LSP 3.17, base protocol. Header names are taken without regard to case.
"""

from collections.abc import Iterator

MOST_HEADER = 8192
MOST_BODY = 64 << 20


class BadFrameError(ValueError):
    """The stream cannot be followed any further."""


class FrameReader:
    """Collects bytes and gives whole message bodies."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Bodies that are complete with `data`. Raises `BadFrameError` for what is no frame."""
        self._buffer += data
        while True:
            if self._length is None:
                self._length = self._header()
            if self._length is None or len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = None
            yield body

    def _header(self) -> int | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MOST_HEADER:
                raise BadFrameError("header without end")
            return None
        lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        lengths = [
            value for name, _, value in (line.partition(b":") for line in lines) if name.strip().lower() == _NAME
        ]
        try:
            length = int(lengths[0])
        except (IndexError, ValueError):
            raise BadFrameError("header without a length") from None
        if len(set(lengths)) > 1 or not 0 <= length <= MOST_BODY:
            raise BadFrameError(f"length {lengths[0]!r} cannot be")
        return length


_NAME = b"content-length"


def frame(body: bytes) -> bytes:
    """`body` with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
