"""Short names for things in one line."""

from collections.abc import Iterator

import msgspec
from rich.cells import cell_len

INDENT = "    "

_TELLING = ("command", "path", "pattern", "query", "url", "task", "name")
"""The argument that says most, first found."""


def first_line(text: str) -> str:
    """The first line that says something."""
    return text.strip().partition("\n")[0].rstrip()


def indent(line: str) -> str:
    """`line` as part of a block that has a head; an empty line stays empty."""
    return f"{INDENT}{line}" if line else ""


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells."""
    if cell_len(text) <= width:
        return text
    kept = ""
    for character in text:
        if cell_len(kept + character) > width - 1:
            break
        kept += character
    return f"{kept or text[:1]}…"


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` cells, broken between words where that goes."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def of_call(name: str, title: str, arguments: str = "") -> str:
    """A call in words: its name and its most telling argument."""
    what = first_line(title) or _telling(arguments)
    return f"{name} {what}" if what else name


def split_lines(text: str) -> list[str]:
    """The lines of `text`, without empty ones at both ends."""
    return text.strip("\n").split("\n") if text.strip("\n") else []


def last_lines(text: str, limit: int) -> Iterator[str]:
    """The last `limit` lines, indented, behind a word on how many there were before."""
    lines = split_lines(text)
    first = max(len(lines) - limit, 0)
    if first:
        yield indent(f"… {first} {'line' if first == 1 else 'lines'} before")
    yield from (indent(line) for line in lines[first:])


def _telling(arguments: str) -> str:
    try:
        values = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError):
        return ""
    if not isinstance(values, dict):
        return ""
    said = (values[name] for name in _TELLING if isinstance(values.get(name), str))
    return first_line(next(said, ""))
