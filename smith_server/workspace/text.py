"""What a text is: its hash, its lines, and how bytes on disk become one. Pure.

Only LF ends a line; a CR right before it belongs to the ending, any other CR is text.
"""

import codecs
import hashlib
from typing import Literal

from msgspec import Struct

LineEnds = Literal["none", "lf", "crlf", "mixed", "cr"]

_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS = (*_WIDE_MARKS, (codecs.BOM_UTF8, "utf-8"))


class Decoded(Struct, frozen=True):
    """Bytes as text. `encoding` is `latin-1` for what is nothing else.

    `bom` is the mark that the bytes begin with; it is no part of `text`, except in Latin-1.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    @property
    def wide(self) -> bool:
        """Whether the bytes carry a mark of UTF-16 or UTF-32, well formed or not."""
        return any(self.bom == mark for mark, _ in _WIDE_MARKS)


def decode(data: bytes) -> Decoded:
    """Decode by the mark, else as UTF-8, else as Latin-1; never fails, and loses nothing."""
    seen = b""
    for mark, encoding in _MARKS:
        if not data.startswith(mark):
            continue
        seen = seen or mark
        try:
            return Decoded(data[len(mark) :].decode(encoding), encoding, mark)
        except UnicodeDecodeError:
            continue
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError:
        return Decoded(data.decode("latin-1"), "latin-1", seen)


def text_hash(text: str) -> str:
    """The first 16 hex digits of SHA-256 over `text` in UTF-8; one line end alone counts as no text."""
    counted = "" if only_line_end(text) else text
    return hashlib.sha256(counted.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def only_line_end(text: str) -> bool:
    """Whether `text` is one line end and nothing else: editors show that as an empty file."""
    return text in ("\n", "\r\n", "\r")


def line_ends(text: str) -> LineEnds:
    """Which line ends `text` has; `cr` means that it has CR and no LF at all."""
    feeds = text.count("\n")
    if not feeds:
        return "cr" if "\r" in text else "none"
    pairs = text.count("\r\n")
    if not pairs:
        return "lf"
    return "crlf" if pairs == feeds else "mixed"


def is_unicode(text: str) -> bool:
    """Whether `text` can be written at all: a lone surrogate cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def lines_of(text: str) -> list[str]:
    """The lines with their ends; a last line without one counts, an empty text has none."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    if last:
        lines.append(last)
    return lines


def line_count(text: str) -> int:
    """How many lines `lines_of` would give."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def content_of(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line


def end_of(line: str) -> str:
    """The end of a line, "" when it has none."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def with_line_feeds(text: str) -> str:
    """`text` with LF wherever it has CRLF: how a model sees and writes it."""
    return text.replace("\r\n", "\n")
