"""Where a setting stands in the text of a file. Good enough to point at it; nothing depends on it."""

import re
from functools import cached_property

_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w\s.-])+?)\s*=""")
_LONGEST = 300
"""Characters of a line that are looked at: the patterns take their time with longer ones."""
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")


class Lines:
    """The line of each key of a TOML or JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def suffix(self, at: tuple[str, ...]) -> str:
        """`:12` for the key at a path, for the table around it if it has no line of its own, or ""."""
        for length in range(len(at), 0, -1):
            if line := self._numbers.get(at[:length]):
                return f":{line}"
        return ""

    @cached_property
    def _numbers(self) -> dict[tuple[str, ...], int]:
        return _of_json(self._text) if self._text.lstrip().startswith("{") else _of_toml(self._text)


def _of_toml(text: str) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        line = line[:_LONGEST]
        if header := _HEADER.match(line):
            table = _parts(header[1])
            found.setdefault(table, number)
        elif entry := _ENTRY.match(line):
            path = (*table, *_parts(entry[1]))
            for length in range(len(table) + 1, len(path) + 1):
                found.setdefault(path[:length], number)
    return found


def _of_json(text: str) -> dict[tuple[str, ...], int]:
    """Keys by nesting: a brace opens the table of the key before it."""
    found: dict[tuple[str, ...], int] = {}
    path: list[str] = []
    key, number = "", 1
    for token in re.finditer(r'"((?:[^"\\\n]|\\.)*)"[ \t]*(:?)|[{}\n]', text):
        if token[0] == "{":
            path.append(key)
        elif token[0] == "}":
            path[-1:] = []
        elif token[0] == "\n":
            number += 1
        elif token[2]:
            key = token[1]
            found.setdefault((*path[1:], key), number)
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(next(filter(None, part), "") for part in _PART.findall(dotted))
