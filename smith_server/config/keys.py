"""The schema as a tree of keys: what may stand where, and everything known about it."""

import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from smith_server.config.schema.field import ABSENT, CONSENT, FOLDS, Check, Rule, Table
from smith_server.config.schema.settings import OtherTables, Settings
from smith_server.config.schema.waiting import NO_EFFECT_YET

Path = tuple[str, ...]
ANY_NAME = "*"
"""Stands in a path for a name that the person chooses."""


class Key(Struct, frozen=True):
    """A place in the tree of settings: a table when `kind` is one, else a value of that type.

    `metas` are the limits and checks around the type, outermost first.
    """

    path: Path
    kind: Any
    metas: tuple[Meta, ...] = ()
    default: Any = None
    sentence: str = ""
    rule: Rule = CONSENT
    marks: frozenset[str] = frozenset()

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    @property
    def annotation(self) -> Any:
        """The type with its limits, as msgspec checks it."""
        return Annotated[(self.kind, *self.metas)] if self.metas else self.kind

    @property
    def holds_names(self) -> bool:
        """A table with fixed or free names, or a value that may be a table."""
        return self.kind is Any or is_table(self.kind) or get_origin(self.kind) is Mapping

    @property
    def in_defaults(self) -> bool:
        """Part of the effective settings when nobody set it."""
        return ABSENT not in self.marks and self.default not in (None, "", NODEFAULT)

    @property
    def has_effect(self) -> bool:
        """Whether anything reads it yet."""
        tables = {self.path[:length] for length in range(1, len(self.path) + 1)}
        return not any(_covers(name.split("."), table) for name in NO_EFFECT_YET for table in tables)


def _covers(pattern: list[str], path: Path) -> bool:
    same = zip(pattern, path, strict=False)
    return len(pattern) == len(path) and all(wanted in (ANY_NAME, name) for wanted, name in same)


ROOT = Key((), Settings)
OTHER_ROOT = Key((), OtherTables)


def is_table(kind: Any) -> bool:
    """Whether a type is a table with fixed names."""
    return isinstance(kind, type) and issubclass(kind, Table)


@cache
def children(table: type[Table]) -> Mapping[str, Key]:
    """The keys of a table by name, with paths relative to it."""
    return {field.name: _key(field) for field in msgspec.structs.fields(table)}


def _key(field: msgspec.structs.FieldInfo) -> Key:
    kind, metas = peel(field.type)
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    rule, marks, sentence = CONSENT, frozenset[str](), ""
    for meta in metas:
        extra = meta.extra or {}
        rule, marks = extra.get("rule", rule), extra.get("marks", marks)
        sentence = meta.description if isinstance(meta.description, str) else sentence
    return Key((field.name,), kind, metas, default, sentence, rule, marks)


def peel(annotation: Any) -> tuple[Any, tuple[Meta, ...]]:
    """A type without `None` and without what is around it, and that."""
    metas: tuple[Meta, ...] = ()
    while True:
        if get_origin(annotation) is Annotated:
            metas += tuple(note for note in annotation.__metadata__ if isinstance(note, Meta))
            annotation = annotation.__origin__
        elif get_origin(annotation) in (Union, types.UnionType):
            annotation = next(each for each in get_args(annotation) if each is not type(None))
        else:
            return annotation, metas


def child(parent: Key, name: str) -> Key | None:
    """The key `name` in a table; None when there is no such key."""
    if is_table(parent.kind):
        found = children(parent.kind).get(name)
        return found and msgspec.structs.replace(found, path=(*parent.path, name))
    if parent.kind is Any:
        return msgspec.structs.replace(parent, path=(*parent.path, name))
    if get_origin(parent.kind) is Mapping:
        kind, metas = peel(get_args(parent.kind)[1])
        name = name.strip().lower() if FOLDS in parent.marks else name
        return msgspec.structs.replace(parent, path=(*parent.path, name), kind=kind, metas=metas, default=NODEFAULT)
    return None


def key_at(path: Path, root: Key = ROOT) -> Key | None:
    """The key at a path, a table or a value."""
    found: Key | None = root
    for name in path:
        found = found and child(found, name)
    return found


def all_keys(root: Key = ROOT) -> Iterator[Key]:
    """Every value that can be set, in the order of the schema; free names are `*`."""
    if is_table(root.kind):
        for name in children(root.kind):
            yield from all_keys(_sure(child(root, name)))
    elif get_origin(root.kind) is Mapping:
        yield from all_keys(_sure(child(root, ANY_NAME)))
    else:
        yield root


def _sure(key: Key | None) -> Key:
    assert key is not None, "a name that the schema itself gave"
    return key


def checks(metas: tuple[Meta, ...]) -> Iterator[Check]:
    """The conditions on a value besides its type and limits."""
    for meta in metas:
        if meta.extra and "check" in meta.extra:
            yield meta.extra["check"]


def choices(key: Key) -> tuple[str, ...]:
    """The values to choose from; empty when they are not a few."""
    if key.kind is bool:
        return ("true", "false")
    return tuple(filter(None, get_args(key.kind))) if get_origin(key.kind) is Literal else ()


@cache
def defaults() -> Mapping[str, Any]:
    """The tree of settings when nobody set anything. Not to be changed."""
    tree: dict[str, Any] = {}
    for key in all_keys():
        if ANY_NAME not in key.path and key.in_defaults:
            node = tree
            for name in key.path[:-1]:
                node = node.setdefault(name, {})
            node[key.path[-1]] = list(key.default) if isinstance(key.default, tuple) else key.default
    return tree
