"""Bytes that a command wrote, as text that is safe and sensible to show.

Knows terminals only as far as needed to leave them out: no sequence that moves, colours, names or
draws survives, and a line that was drawn over and over keeps its last state.
"""

import codecs
import re

LONGEST_LINE = 16 * 1024
"""Characters of one line that are held back in case it is drawn over; older ones are given out."""

# Each alternative has one group, its end: no group means that the sequence may go on.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,8}([@-~])?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\n\x18\x1a\x1b\x80-\x9f]{0,4096}(\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]{0,8}([0-~])?"
)
_OPENINGS = "\x1b\x90\x98\x9b\x9d\x9e\x9f"
_TOKEN = re.compile(r"[^\r\x08]+|\r+|\x08+")
_KEPT_CONTROLS = "\t\n\r\b"
_CONTROLS: dict[int, int | None] = {
    code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _KEPT_CONTROLS
}
_CONTROLS[0] = 0xFFFD


def clean(data: bytes) -> str:
    """The whole of `data` as text: UTF-8 with replacement characters for what is none."""
    cleaner = Cleaner()
    return cleaner.feed(data) + cleaner.finish()


class Cleaner:
    """`clean` for data that comes in pieces; where the pieces are cut does not change the text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._line = _Line()

    def feed(self, data: bytes) -> str:
        """What became certain with `data`; an unfinished line waits, for it may be drawn over."""
        return self._take(self._decoder.decode(data), last=False)

    def release(self) -> str:
        """The unfinished line as far as it is there, unless it is one that is being drawn over."""
        return self._line.release()

    def finish(self) -> str:
        """What was held back; nothing may follow."""
        return self._take(self._decoder.decode(b"", final=True), last=True) + self._line.finish()

    def _take(self, text: str, last: bool) -> str:
        text = self._held + text
        cut = len(text) if last else _certain(text)
        self._held = text[cut:]
        plain = _SEQUENCE.sub("", text[:cut]).translate(_CONTROLS)
        return self._line.put(plain)


def _certain(text: str) -> int:
    """Where the sequence begins that is not over at the end of `text`, else the length."""
    start = max(text.rfind(opening) for opening in _OPENINGS)
    if start < 0:
        return len(text)
    found = _SEQUENCE.match(text, start)
    open_ended = found is not None and found.lastindex is None and found.end() == len(text)
    return start if open_ended else len(text)


class _Line:
    """The line being written, with what a carriage return and a backspace do to it."""

    def __init__(self) -> None:
        self._text = ""
        self._returned = False
        self._partly_given = False
        self._drawn_over = False

    def put(self, text: str) -> str:
        """Go on with `text` (no controls but tab, newline, return and backspace); what became certain."""
        given: list[str] = []
        for token in _TOKEN.findall(text.replace("\r\n", "\n")):
            if token[0] == "\r":
                self._returned = self._returned or bool(self._text) or self._partly_given
            elif token[0] == "\b":
                self._text = self._text if self._returned else self._text[: -len(token)]
            else:
                self._put_lines(token, given)
        return "".join(given)

    def release(self) -> str:
        if self._returned or self._drawn_over or not self._text:
            return ""
        given, self._text, self._partly_given = self._text, "", True
        return given

    def finish(self) -> str:
        given, self._text = self._text, ""
        return given

    def _put_lines(self, text: str, given: list[str]) -> None:
        first, newline, rest = text.partition("\n")
        self._append(first, given)
        if not newline:
            return
        given.append(self._text + "\n")
        self._text = ""
        self._returned = self._partly_given = self._drawn_over = False
        whole = rest.rfind("\n") + 1
        given.append(rest[:whole])
        self._append(rest[whole:], given)

    def _append(self, text: str, given: list[str]) -> None:
        if not text:
            return
        if self._returned:
            self._begin_again(given)
        self._text += text
        while len(self._text) >= LONGEST_LINE:
            given.append(self._text[:LONGEST_LINE])
            self._text = self._text[LONGEST_LINE:]
            self._partly_given = True

    def _begin_again(self, given: list[str]) -> None:
        """Draw over the line; what was already given out stays and a new line begins below it."""
        if self._partly_given:
            given.append(self._text + "\n")
        self._text = ""
        self._returned = self._partly_given = False
        self._drawn_over = True
