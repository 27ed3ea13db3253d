"""The documents as a server has them, fed by `didOpen` and `didChange`; LF ends a line."""

import hashlib
from dataclasses import dataclass
from typing import Any

UNIT = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def text_hash(text: str) -> str:
    """The hash of a document's text; one line end alone counts as empty."""
    plain = "" if text in ("\n", "\r\n", "\r") else text
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


@dataclass(eq=False)
class Document:
    """One open document; `encoding` is that of positions."""

    uri: str
    text: str
    version: int
    opened: int = 1
    encoding: str = "utf-8"

    @property
    def hash(self) -> str:
        return text_hash(self.text)

    def change(self, params: dict[str, Any]) -> None:
        for change in params["contentChanges"]:
            self.text = self._changed(change)
        self.version = params["textDocument"]["version"]

    def _changed(self, change: dict[str, Any]) -> str:
        if "range" not in change:
            return str(change["text"])
        start, end = (self.offset(change["range"][side]) for side in ("start", "end"))
        return self.text[:start] + str(change["text"]) + self.text[end:]

    def offset(self, position: dict[str, int]) -> int:
        """The offset of a position in characters, cut to the text."""
        at = 0
        for _ in range(position["line"]):
            found = self.text.find("\n", at)
            if found < 0:
                return len(self.text)
            at = found + 1
        end = self.text.find("\n", at)
        line = self.text[at : end if end >= 0 else len(self.text)]
        codec = self.encoding if self.encoding == "utf-8" else f"{self.encoding}-le"
        units = line.encode(codec)[: position["character"] * UNIT[self.encoding]]
        return at + len(units.decode(codec))

    def edit(self, line: int, old: str, new: str, column: int = 0) -> dict[str, Any]:
        """A replacement of `old`, which stands at `line` and `column` (bytes), in wire terms."""
        before = old.split("\n")
        end_column = len(before[-1].encode()) + (column if len(before) == 1 else 0)
        return {
            "range": {
                "start": {"line": line, "character": column},
                "end": {"line": line + len(before) - 1, "character": end_column},
            },
            "old": old,
            "newText": new,
        }
