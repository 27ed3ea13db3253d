"""Content encodings of a body, undone read by read."""

import zlib
from typing import Protocol

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_HEAD = b"\x1f"


class Damaged(ValueError):
    """The body is not what its encoding says, or the encoding is one nobody asked for."""


class Inflater(Protocol):
    """Undoes an encoding; raises `Damaged`."""

    def __call__(self, data: bytes) -> bytes: ...


def inflater(encoding: str) -> Inflater:
    """What undoes `encoding` (the header's value). An unknown one is damaged from its first byte."""
    match encoding.strip().lower():
        case "" | "identity":
            return _plain
        case "gzip" | "x-gzip":
            return _Zlib(_GZIP)
        case "deflate":
            return _Deflate()
        case other:
            return _Unknown(other)


def _plain(data: bytes) -> bytes:
    return data


class _Unknown:
    def __init__(self, encoding: str) -> None:
        self._encoding = encoding

    def __call__(self, data: bytes) -> bytes:
        raise Damaged(f"unknown content encoding {self._encoding!r}")


class _Zlib:
    """One stream, or several in a row, as gzip allows; other bytes behind it are padding."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window)

    def __call__(self, data: bytes) -> bytes:
        out: list[bytes] = []
        while data:
            if self._stream.eof:
                if not (self._window == _GZIP and data.startswith(_GZIP_HEAD)):
                    break
                self._stream = zlib.decompressobj(self._window)
            try:
                out.append(self._stream.decompress(data))
            except zlib.error as problem:
                raise Damaged(str(problem)) from problem
            data = self._stream.unused_data
        return b"".join(out)


class _Deflate:
    """`deflate` is a zlib stream, and with some servers a raw one; the first two bytes tell."""

    def __init__(self) -> None:
        self._start = b""
        self._inner: _Zlib | None = None

    def __call__(self, data: bytes) -> bytes:
        if self._inner is None:
            self._start += data
            if len(self._start) < 2:
                return b""
            data = self._start
            self._inner = _Zlib(zlib.MAX_WBITS if _has_zlib_head(data) else -zlib.MAX_WBITS)
        return self._inner(data)


def _has_zlib_head(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and (data[0] * 256 + data[1]) % 31 == 0
