"""Which of very many definitions fit a question, and which of those come first. Pure."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from smith_server.codebase.symbol import VALUES, Packed, Symbol, unpack

_SEPARATORS = re.compile(r"::|[.#:/]")
_ENOUGH = 4
"""Times the wanted number of finds that are looked at closely."""


class Question(Struct, frozen=True):
    """What is asked: a part of a name ("" for all), what it belongs to, a kind; how many answers are wanted."""

    word: str
    parent: str = ""
    kind: str = ""
    limit: int = 50


class Place(Struct, frozen=True):
    """A definition and the file it stands in."""

    path: str
    symbol: Symbol


class Answer(Struct, frozen=True):
    """The best places of `total`.

    `rough` files were looked at by their lines alone, `large` ones not at all, nor `unread` ones, for want of time.
    """

    places: tuple[Place, ...]
    total: int
    rough: tuple[str, ...] = ()
    large: tuple[str, ...] = ()
    unread: int = 0


def question(query: str, kind: str, limit: int) -> Question:
    """`Class.method`, `a::b` and plain names; stars and blanks around a name mean nothing."""
    text = query.strip().strip("*").removesuffix("()")
    *before, name = [part for part in _SEPARATORS.split(text) if part] or [""]
    return Question(name, before[-1] if before else "", kind, limit)


def answer(asked: Question, packed: Mapping[str, Packed], order: Sequence[str]) -> Answer:
    """The places of `order` (paths, the most interesting first) that fit: equal names before parts of names."""
    rough = tuple(path for path in order if path in packed and packed[path].rough)
    word = asked.word.lower()
    if not (word or asked.kind or asked.parent):
        return _first(packed, order, asked.limit, rough)
    tiers: tuple[list[tuple[str, int]], ...] = ([], [], [])
    total = 0
    most = _ENOUGH * asked.limit
    for path in order:
        found = packed.get(path)
        if found is None or word not in found.names:
            continue
        for tier, index in _fitting(found, word, asked):
            total += 1
            if len(tiers[tier]) < most:
                tiers[tier].append((path, index))
    places = _places(tiers, packed, asked)
    return Answer(tuple(places[: asked.limit]), total, rough)


def _first(packed: Mapping[str, Packed], order: Sequence[str], limit: int, rough: tuple[str, ...]) -> Answer:
    """The beginning of everything."""
    total = sum(packed[path].count for path in order if path in packed)
    all_of_them = (Place(path, symbol) for path in order if path in packed for symbol in unpack(packed[path]))
    return Answer(tuple(itertools.islice(all_of_them, limit)), total, rough)


def _fitting(found: Packed, word: str, asked: Question) -> Iterator[tuple[int, int]]:
    """Tier and index of each symbol that fits."""
    names = found.names.split("\n")[1:-1]
    if not (asked.kind or asked.parent):
        for index, name in enumerate(names):
            if word in name:
                yield _tier(name, word), index
        return
    for index, symbol in enumerate(unpack(found)):
        name = symbol.name.lower()
        if word in name and _belongs(symbol, asked):
            yield _tier(name, word), index


def _tier(name: str, word: str) -> int:
    return 0 if name == word else 1 if name.startswith(word) else 2


def _belongs(symbol: Symbol, asked: Question) -> bool:
    if asked.kind and symbol.kind != asked.kind:
        return False
    if not asked.parent:
        return True
    parents = [part.lower() for part in _SEPARATORS.split(symbol.parent) if part]
    return asked.parent.lower() in parents


def _places(tiers: Sequence[Sequence[tuple[str, int]]], packed: Mapping[str, Packed], asked: Question) -> list[Place]:
    places: list[Place] = []
    for tier in tiers:
        rows: dict[str, list[Symbol]] = {}
        some = [Place(path, rows.setdefault(path, list(unpack(packed[path])))[index]) for path, index in tier]
        if asked.word:
            some.sort(key=lambda place: (place.symbol.kind in VALUES, place.symbol.name != asked.word))
        places += some
        if len(places) >= asked.limit:
            break
    return places
