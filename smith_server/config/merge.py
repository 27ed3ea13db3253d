"""Layers become settings: each layer is checked leaf by leaf, then merged over the ones below.

A bad value costs that value alone: the next lower layer holds, and the person is told where it is.
"""

import difflib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Meta, Struct
from msgspec.inspect import Metadata, StructType, Type, UnionType, type_info

from smith_server.config.schema import Settings

_TABLES_THAT_GUARD = ("approval",)


class Layer(Struct, frozen=True):
    """One source of settings: its name for people, a sparse tree of values, and its text for line numbers.

    `narrow_only` marks a source that is not trusted: it may only make things narrower.
    """

    name: str
    values: dict[str, Any]
    text: str = ""
    narrow_only: bool = False


class Problem(Struct, frozen=True):
    """Something wrong in a layer; `guards` when it stands in a table that protects the person."""

    text: str
    guards: bool = False


class Merged(Struct, frozen=True):
    """The settings, which layer each set leaf came from (by dotted path), and what was wrong."""

    settings: Settings
    origin: dict[str, str]
    problems: tuple[Problem, ...]


def merge(layers: Sequence[Layer]) -> Merged:
    """Merge `layers`, lowest first. Tables merge by key, everything else replaces."""
    tree: dict[str, Any] = {}
    origin: dict[str, str] = {}
    problems: list[Problem] = []
    for layer in layers:
        for path, value in _leaves(layer.values, _schema(), ()):
            if problem := _check(layer, path, value, tree):
                problems.append(problem)
                continue
            _put(tree, path, value)
            origin[".".join(path)] = layer.name
    return Merged(msgspec.convert(tree, Settings), origin, tuple(problems))


@cache
def _schema() -> Type:
    return type_info(Settings)


def _leaves(values: dict[str, Any], kind: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The dotted paths and values of a tree, down to what the schema holds as one value."""
    fields = {field.encode_name: field.type for field in kind.fields} if isinstance(kind, StructType) else {}
    for key, value in values.items():
        inner = fields.get(key)
        if isinstance(value, dict) and isinstance(inner, StructType):
            yield from _leaves(value, inner, (*path, key))
        else:
            yield (*path, key), value


def _check(layer: Layer, path: tuple[str, ...], value: Any, below: dict[str, Any]) -> Problem | None:
    field = _field(path)
    guards = path[0] in _TABLES_THAT_GUARD
    dotted = ".".join(path)
    where = f"{layer.name}{_line(layer.text, path[-1])}"
    if field is None:
        near = difflib.get_close_matches(dotted, list(known_paths()), 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        return Problem(f"{where}: there is no setting `{dotted}`{hint}", guards)
    try:
        msgspec.convert(value, field[0])
    except msgspec.ValidationError as problem:
        return Problem(f"{where}: `{dotted}`: {problem}; the value below it is used", guards)
    if layer.narrow_only and not _narrows(field[1], value, _get(below, path, field[2])):
        return Problem(f"{where}: `{dotted}` is ignored: a project may not set it without your consent", False)
    return None


def _narrows(rule: str | None, value: Any, below: Any) -> bool:
    if rule == "lower":
        return isinstance(value, int | float) and value <= below
    return rule is not None and value == rule


def _field(path: tuple[str, ...]) -> tuple[Any, str | None, Any] | None:
    """The annotated type, the narrowing rule and the default of a setting."""
    owner: Any = Settings
    for name in path[:-1]:
        owner = {field.name: field.type for field in msgspec.structs.fields(owner)}.get(name)
        if not (isinstance(owner, type) and issubclass(owner, Struct)):
            return None
    for field in msgspec.structs.fields(owner):
        if field.name == path[-1]:
            return field.type, _rule(field.type), field.default
    return None


def _rule(annotation: Any) -> str | None:
    for note in getattr(annotation, "__metadata__", ()):
        if isinstance(note, Meta) and note.extra:
            return str(note.extra["narrow"])
    return None


def known_paths() -> Iterator[str]:
    """The dotted path of every setting."""
    yield from _paths(_schema(), "")


def _paths(kind: Type, prefix: str) -> Iterator[str]:
    while isinstance(kind, Metadata):
        kind = kind.type
    if not isinstance(kind, StructType) or isinstance(kind, UnionType):
        yield prefix
        return
    for field in kind.fields:
        yield from _paths(field.type, f"{prefix}.{field.encode_name}".lstrip("."))


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    if isinstance(value, dict) and isinstance(tree.get(path[-1]), dict):
        tree[path[-1]] = {**tree[path[-1]], **value}
    else:
        tree[path[-1]] = value


def _get(tree: dict[str, Any], path: tuple[str, ...], default: Any) -> Any:
    node: Any = tree
    for name in path:
        if not isinstance(node, dict) or name not in node:
            return default
        node = node[name]
    return node


def _line(text: str, key: str) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().partition("=")[0].strip().strip('"') == key:
            return f":{number}"
    return ""
