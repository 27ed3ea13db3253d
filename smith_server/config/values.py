"""One value against its key: what is wanted, in words, and whether a value is that."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from smith_server.config.keys import Key, checks, children, is_table, peel
from smith_server.config.schema.field import MOST

_DEEPEST = 32
_PLAIN = (str, int, float, bool)


class BadValue(Exception):
    """The value is not what the key wants; the text continues "`key` …"."""


def checked(key: Key, value: Any) -> Any:
    """`value` as it is kept: choices in their own spelling, all else as written. Raises `BadValue`."""
    value = _folded(key, value)
    if key.kind is Any:
        return _plain(value, _DEEPEST)
    if not _fits(key.kind, key.metas, value):
        raise BadValue(f"must be {wanted(key)}, not {_shown(key, value)}")
    return value


def elements(key: Key, value: Any) -> tuple[list[Any], list[str]]:
    """Of a list whose members count one by one: those that can be used, and what is wrong with the others."""
    if not isinstance(value, list | tuple):
        kept, _ = elements(key, [value]) if isinstance(value, str) else ([], [])
        return kept, [f"must be {wanted(key)}, not {_shown(key, value)}"]
    kind, metas = peel(get_args(key.kind)[0])
    good = [each for each in value if _fits(kind, metas, each)]
    text = f"holds something that is not {_wanted(kind, metas)}; it is left out"
    return good, [text] if len(good) < len(value) else []


def wanted(key: Key) -> str:
    """What a key takes, in words."""
    return _wanted(key.kind, key.metas)


def _folded(key: Key, value: Any) -> Any:
    if get_origin(key.kind) is Literal and isinstance(value, str):
        folded = {choice.lower(): choice for choice in get_args(key.kind)}
        return folded.get(value.strip().lower(), value)
    return value


def _fits(kind: Any, metas: tuple[Meta, ...], value: Any) -> bool:
    """Whether a value passes type, limits and checks, and all that it holds does."""
    annotated = Key((), kind, metas).annotation
    try:
        converted = msgspec.convert(value, annotated)
    except (msgspec.ValidationError, RecursionError):
        return False
    return _holds(kind, metas, converted)


def _holds(kind: Any, metas: tuple[Meta, ...], value: Any) -> bool:
    if not all(check.holds(value) for check in checks(metas)):
        return False
    return all(_holds(inner, notes, each) for inner, notes, each in _inside(kind, value))


def _inside(kind: Any, value: Any) -> Iterator[tuple[Any, tuple[Meta, ...], Any]]:
    if is_table(kind):
        for name, key in children(kind).items():
            if getattr(value, name) is not None:
                yield key.kind, key.metas, getattr(value, name)
    elif get_origin(kind) is tuple:
        for each in value:
            yield *peel(get_args(kind)[0]), each


def _plain(value: Any, depth: int) -> Any:
    """A value whose type nobody knows: anything that JSON has, not too deep."""
    if depth == 0:
        raise BadValue("is nested too deep")
    if isinstance(value, dict):
        return {str(name): _plain(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, depth - 1) for each in value]
    if not isinstance(value, _PLAIN) or (isinstance(value, float) and not math.isfinite(value)):
        raise BadValue("must be a text, a number, true, false, a list or a table of these")
    return value


def _wanted(kind: Any, metas: tuple[Meta, ...]) -> str:
    for check in checks(metas):
        return check.wanted
    origin = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in get_args(kind) if choice)
    if origin is tuple:
        few = "a list with at least one member, each " if _limit(metas, "min_length") else "a list, each member "
        return few + _wanted(*peel(get_args(kind)[0]))
    if is_table(kind) or origin is Mapping:
        return "a table"
    if kind is Any:
        return "anything"
    if kind is str:
        return "a text that is not empty" if _limit(metas, "min_length") else "a text"
    return {bool: "true or false", int: "a whole number", float: "a number"}[kind] + span(metas)


def span(metas: tuple[Meta, ...]) -> str:
    """The limits of a number in words, with a blank before them; "" when there are none."""
    words = {"ge": "from", "gt": "above", "le": "up to", "lt": "below"}
    limits = [(word, _limit(metas, name)) for name, word in words.items()]
    return "".join(f" {word} {limit}" for word, limit in limits if limit not in (None, MOST))


def _limit(metas: tuple[Meta, ...], name: str) -> Any:
    return next((limit for meta in metas if (limit := getattr(meta, name)) is not None), None)


def _shown(key: Key, value: Any) -> str:
    """A value as an error may repeat it: never a text, which could be a secret."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "a number of that size" if MOST < abs(value) < math.inf else str(value)
    if isinstance(value, str) and get_origin(key.kind) is Literal:
        return f'"{printable(value)}"'
    words: dict[type, str] = {str: "text", dict: "table", list: "list"}
    word = words.get(type(value))
    if word is None:
        return "a value of another kind"
    same = key.kind is str if word == "text" else get_origin(key.kind) is tuple and word == "list"
    return f"this {word}" if same else f"a {word}"


def printable(text: str) -> str:
    """A short text without characters that a terminal would obey."""
    short = text if len(text) <= 80 else text[:79] + "…"
    return "".join(char if char.isprintable() else "�" for char in short)
