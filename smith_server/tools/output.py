"""Bounds for what a tool says: the head and the tail of a long text, and a word about the gap."""

import unicodedata

MODEL_BYTES = 32 * 1024
"""Bytes of one result that a model gets to see."""

_LINE_SEARCH = 1024
# Invisible, though they count as letters, marks or symbols.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


def shorten(head: str, tail: str = "", bytes_out: int = 0, lines_out: int = 0, limit: int = MODEL_BYTES) -> str:
    """At most `limit` bytes of a text, half from its beginning and half from its end, the gap told.

    A text that was cut before comes as `head` and `tail` with what lies between them; one that was
    not is `head` alone. Cuts are at line ends where one is near, never inside a character.
    """
    whole = head.encode()
    if not bytes_out and not tail and len(whole) <= limit:
        return head
    first = head_of(whole, limit // 2)
    last = _tail(tail.encode() if bytes_out else whole[len(first) :], limit // 2)
    kept = len(first) + len(last)
    bytes_out += len(whole) + len(tail.encode()) - kept
    lines_out += head.count("\n") + tail.count("\n") - first.count(b"\n") - last.count(b"\n")
    lines = f" ({lines_out} lines)" if lines_out else ""
    before = "" if first.endswith(b"\n") or not first else "\n"
    return f"{first.decode()}{before}[{bytes_out} bytes{lines} left out here]\n{last.decode()}"


def visible(text: str) -> str:
    """`text` on one line, with everything that is not seen or turns the direction written as an escape."""
    return "".join(char if _is_plain(char) else _escape(char) for char in text)


def _is_plain(char: str) -> bool:
    if " " <= char <= "~":
        return True
    if char in _BLANKS or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return False
    return unicodedata.category(char)[0] not in "CZ"


def _escape(char: str) -> str:
    if char == "\n":
        return "⏎"
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def head_of(data: bytes, most: int) -> bytes:
    """The first `most` bytes at most, up to a line end where one is near, never a part of a character."""
    if len(data) <= most:
        return data
    newline = data.rfind(b"\n", max(most - _LINE_SEARCH, 0), most)
    return data[: newline + 1] if newline >= 0 else data[:most].decode(errors="ignore").encode()


def _tail(data: bytes, most: int) -> bytes:
    if len(data) <= most:
        return data
    start = len(data) - most
    newline = data.find(b"\n", start - 1, start + _LINE_SEARCH)
    return data[newline + 1 :] if newline >= 0 else data[start:].decode(errors="ignore").encode()
