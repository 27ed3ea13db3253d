"""Settings in words: narrow enough for a small window, what somebody has set in front of what nobody has."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smith_server.config import overrides, secrets
from smith_server.config.keys import key_at
from smith_server.config.layers import PATCH, Loaded
from smith_server.config.trees import leaves

_WIDTH = 60
_DEFAULT = "default"
UNREAD = "has no effect yet"


def page(loaded: Loaded, changed: Mapping[str, Any]) -> str:
    """Every effective setting, by who set it, as TOML; `changed` is what was set with `/config`, ready to be shown."""
    groups: dict[str, list[str]] = {}
    for path, value in leaves(loaded.tree):
        groups.setdefault(origin(".".join(path), loaded), []).append(_row(path, value))
    defaults = groups.pop(_DEFAULT, [])
    lines = [*_comment("What is wrong with the settings", loaded.problems)]
    for name, rows in groups.items():
        lines += [f"# From {name}", *rows, ""]
    lines += _comment("Set with /config, but not what holds", list(_overruled(loaded, changed)))
    lines += [] if changed else ["# Nothing is set with /config.", ""]
    return "\n".join([*lines, "# Defaults", *defaults])


def is_unread(path: tuple[str, ...]) -> bool:
    """Whether a setting has no effect yet."""
    key = key_at(path)
    return key is not None and not key.has_effect


def _row(path: tuple[str, ...], value: Any) -> str:
    """A setting, with a comment above it where nothing reads it."""
    return f"# {UNREAD}:\n{assigned(path, value)}" if is_unread(path) else assigned(path, value)


def assigned(path: tuple[str, ...], value: Any) -> str:
    """A setting and its value, secrets hidden; a list that is long stands in several lines."""
    shown = secrets.shown(path, value)
    line = f"{'.'.join(path)} = {told(shown)}"
    if len(line) <= _WIDTH or not isinstance(shown, list | tuple) or not shown:
        return line
    return "\n".join([f"{'.'.join(path)} = [", *(f"    {told(each)}," for each in shown), "]"])


def origin(path: str, loaded: Loaded) -> str:
    """Who has set what holds."""
    return loaded.origin.get(path, _DEFAULT)


def told(value: Any) -> str:
    """A value as it is written."""
    return json.dumps(value, ensure_ascii=False)


def _overruled(loaded: Loaded, changed: Mapping[str, Any]) -> Iterator[str]:
    for path, value in changed.items():
        if why := " ".join(overrides.shadows(path, PATCH, loaded)):
            yield f"{path} = {told(value)}: {why}"


def _comment(head: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"# {head}:", *(f"# {line}" for text in lines for line in text.split("\n")), "")
