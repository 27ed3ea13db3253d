"""Other spellings of settings, so that a file written for the older programs works unchanged."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from smith_server.config.keys import OTHER_ROOT, ROOT, Key, Path, child, children, key_at
from smith_server.config.schema.agent import Services


class Spelling(Struct, frozen=True):
    """The settings that another spelling stands for, and what its value is multiplied with."""

    means: tuple[Path, ...]
    factor: float = 1


SPELLINGS: Mapping[Path, Spelling] = MappingProxyType(
    {
        ("http", "connect_timeout"): Spelling((("llm_config", "connect_timeout"),)),
        ("http", "read_timeout"): Spelling((("llm_config", "stream_stall_timeout"), ("llm_config", "timeout"))),
        ("context", "max_tokens"): Spelling((("context_management", "max_tokens"),)),
        ("context", "compact_at"): Spelling((("context_management", "trim_threshold_pct"),), 100),
        ("context", "compact_to"): Spelling((("context_management", "compact_to"),)),
        ("llm_config", "model"): Spelling((("providers", "custom", "model"),)),
    }
)

_DEEPEST = 32

SERVICES = tuple(children(Services))
"""Names of the inner services; a table of that name at the top holds its options."""


class Written(Struct, frozen=True):
    """One value of a source: its key (None: there is no such setting), where it stands there, what it is.

    A value that stands for several settings comes once for each.
    """

    key: Key | None
    at: Path
    value: Any
    means: Key | None = None
    factor: float = 1


def written(values: Mapping[str, Any]) -> Iterator[Written]:
    """Everything in a tree that is a value, with the setting that it means. What is null is not there."""
    for name, value in values.items():
        start = child(ROOT, name) or child(OTHER_ROOT, name)
        if start is None and name in SERVICES and isinstance(value, dict):
            start = key_at(("services", name))
        yield from _below(start, (name,), value)


def _below(key: Key | None, at: Path, value: Any) -> Iterator[Written]:
    if value is None:
        return
    if key is not None and key.holds_names and isinstance(value, dict) and len(at) < _DEEPEST:
        for name, each in value.items():
            yield from _below(child(key, str(name)), (*at, str(name)), each)
    elif at in SPELLINGS:
        spelling = SPELLINGS[at]
        for path in spelling.means:
            yield Written(key, at, value, key_at(path), spelling.factor)
    else:
        yield Written(key, at, value, key)


def meant(path: Path) -> Path:
    """The path of the setting that another spelling stands for; of several the first."""
    if path in SPELLINGS:
        return SPELLINGS[path].means[0]
    return ("services", *path) if path[0] in SERVICES and key_at(path) is None else path
