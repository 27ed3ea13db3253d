"""The body of a page: never more of it in memory than was asked for, decompressed or not, and as text."""

import asyncio
import codecs
import re
import zlib
from collections.abc import AsyncIterator

from msgspec import Struct

from smith_server.core.errors import ToolRefusal

_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_LOOKED_AT = 2048
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]+)", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROLS: dict[int, str | None] = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10)}


class Body(Struct, frozen=True):
    """What was read; `missing` says why it is not all, "" when it is."""

    data: bytes
    missing: str = ""


async def read_body(chunks: AsyncIterator[bytes], encoding: str, most: int, seconds: float) -> Body:
    """At most `most` bytes, for at most `seconds`. What breaks off is kept as far as it came.

    Raises `unsupported_encoding` for a content encoding that nobody asked for.
    """
    inflate = _inflater(encoding)
    data = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in chunks:
                data += inflate(piece, most + 1 - len(data))
                if len(data) > most:
                    return Body(bytes(data[:most]), f"only the first {most:,} bytes were read")
    except TimeoutError:
        return Body(bytes(data), f"the rest did not come within {seconds:g} s")
    except (ToolRefusal, zlib.error) as problem:
        if not data:
            raise ToolRefusal("broken", f"The answer cannot be read: {problem}.") from problem
        return Body(bytes(data), "the answer broke off here")
    return Body(bytes(data))


def as_text(data: bytes, content_type: str) -> str:
    """The bytes as text by their mark, the header or the page's own word, else UTF-8; nothing in it moves a cursor."""
    mark = next((name for start, name in _MARKS if data.startswith(start)), "")
    told = _CHARSET.search(content_type) or _CHARSET.search(data[:_LOOKED_AT].decode("latin-1"))
    name = mark or (told[1] if told else "utf-8")
    try:
        text = data.decode(name, "replace")
    except (LookupError, UnicodeError):  # a name that nobody knows, or one that is no text encoding
        text = data.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def _inflater(encoding: str) -> "_Plain | _Zlib":
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _Plain()
    if name not in _WINDOWS:
        raise ToolRefusal("unsupported_encoding", f"The answer is encoded as {name!r}, which was not asked for.")
    return _Zlib(_WINDOWS[name])


class _Plain:
    def __call__(self, piece: bytes, room: int) -> bytes:
        return piece[:room]


class _Zlib:
    """Gives `room` bytes at most; what a bomb would be beyond them is never made."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window)
        self._begun = False

    def __call__(self, piece: bytes, room: int) -> bytes:
        if not self._begun and piece and self._window == zlib.MAX_WBITS and piece[0] & 0x0F != 8:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # what some servers mean by deflate
        self._begun = self._begun or bool(piece)
        return self._stream.decompress(piece, max(room, 1))
