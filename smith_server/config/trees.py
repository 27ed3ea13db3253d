"""Sparse trees of settings: dicts in dicts, a value at the end of each path."""

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]


def put(tree: dict[str, Any], path: Path, value: Any) -> None:
    """Set one value in a tree."""
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def get(tree: Mapping[str, Any], path: Path, default: Any = None) -> Any:
    """One value of a tree, or `default`."""
    node: Any = tree
    for name in path:
        if not isinstance(node, Mapping) or name not in node:
            return default
        node = node[name]
    return node


def over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both trees in a new one: tables merge by key, everything else of `above` replaces. Neither is changed."""
    merged = dict(below)
    for name, value in above.items():
        held = merged.get(name)
        merged[name] = over(held, value) if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return merged


def leaves(tree: Mapping[str, Any], at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value with its path; an empty table is nothing."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*at, name))
        else:
            yield (*at, name), value


def find(tree: Mapping[str, Any], dotted: str) -> Path | None:
    """The path of a dotted text in a tree whose names may hold dots themselves; None when nothing is there."""
    for name, value in tree.items():
        if name == dotted:
            return (name,)
        if dotted.startswith(f"{name}.") and isinstance(value, Mapping):
            below = find(value, dotted.removeprefix(f"{name}."))
            if below is not None:
                return (name, *below)
    return None
