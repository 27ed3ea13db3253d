"""A definition in a file, and many of them as one compact text that is quick to store and to search. Pure."""

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

SIGNATURE = 120
"""Characters of the line of a definition that are kept."""

Kind = Literal[
    "class",
    "struct",
    "union",
    "interface",
    "enum",
    "type",
    "function",
    "method",
    "prototype",
    "macro",
    "module",
    "namespace",
    "constant",
    "variable",
    "field",
    "heading",
]
CONTAINERS = frozenset({"class", "struct", "union", "interface", "enum", "module", "namespace", "type"})
VALUES = frozenset({"constant", "variable", "field", "prototype"})
"""Kinds of less interest: many of them, and seldom what is looked for."""


class Symbol(Struct, frozen=True):
    """A named definition: lines from 1, both inclusive; `parent` is what it belongs to, "" at the top.

    `text` is its first line, `depth` how many of the other definitions it lies in.
    """

    name: str
    kind: str
    line: int
    end: int
    parent: str
    text: str
    depth: int = 0


class Packed(Struct, frozen=True, array_like=True):
    """The symbols of one file. `names` has each name in small letters between line feeds; `rows` all of it.

    `rough` ones were found by the look of lines, where a grammar would have taken too long.
    """

    names: str
    rows: str
    rough: bool = False

    @property
    def count(self) -> int:
        return self.rows.count("\n")


def pack(symbols: Iterable[Symbol], *, exact: bool = False, rough: bool = False) -> Packed:
    """Symbols as text. `exact` keeps the blanks in their lines."""
    rows = [_row(symbol, exact=exact) for symbol in symbols]
    names = "\n".join(("", *(row.partition("\t")[0].lower() for row in rows), ""))
    return Packed(names, "".join(f"{row}\n" for row in rows), rough)


def unpack(packed: Packed) -> Iterator[Symbol]:
    """The symbols again, in the order of the file."""
    for row in packed.rows.split("\n")[:-1]:
        name, kind, line, end, depth, parent, text = row.split("\t", 6)
        yield Symbol(name, kind, int(line), int(end), parent, text, int(depth))


def _row(symbol: Symbol, *, exact: bool) -> str:
    name, parent, text = (" ".join(part.split()) for part in (symbol.name, symbol.parent, symbol.text))
    text = symbol.text.replace("\n", " ") if exact else text
    return f"{name}\t{symbol.kind}\t{symbol.line}\t{symbol.end}\t{symbol.depth}\t{parent}\t{text[:SIGNATURE]}"
