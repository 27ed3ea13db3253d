"""Growing text as lines, and which of them are code. An append touches the last line and what follows it."""

import re
from collections.abc import Iterator

_OPENS = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
_CLOSES = re.compile(r" {0,3}([`~]+)\s*$")


class Lines:
    """`lines` ends with the one that still grows; `code` tells of each whether it stands in a fence, marks included."""

    def __init__(self, text: str = "") -> None:
        self.lines = [""]
        self.code = [False]
        self._fence = ""
        self.append(text)

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    def append(self, text: str) -> None:
        """Add to the end."""
        first, *rest = text.split("\n")
        self.lines[-1] += first
        for line in rest:
            self._close_line()
            self.lines.append(line)
            self.code.append(bool(self._fence))

    def span(self) -> range:
        """The lines from the first to the last that is not blank; models like to begin and end with empty ones."""
        filled = [at for at, line in enumerate(self.lines) if line.strip()]
        return range(filled[0], filled[-1] + 1) if filled else range(1)

    def shown(self) -> Iterator[str]:
        """The lines of that span."""
        return (self.lines[at] for at in self.span())

    def _close_line(self) -> None:
        """A line that is whole decides whether the next one is code."""
        line = self.lines[-1]
        if self._fence:
            closing = _CLOSES.match(line)
            if closing and len(closing[1]) >= len(self._fence) and set(closing[1]) == {self._fence[0]}:
                self._fence = ""
        elif opening := _OPENS.match(line):
            self._fence = opening[1] or opening[2]
            self.code[-1] = True
