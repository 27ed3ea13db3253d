"""Settings changed at run time: which ones may be, what a typed value means, and the patch that keeps them.

A patch is a sparse tree that the caller stores. Nothing here stores anything or changes what it is given.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from smith_server.config.keys import Path, all_keys, children, key_at
from smith_server.config.schema.agent import ContextManagement
from smith_server.config.trees import get, leaves, over
from smith_server.config.values import BadValue, checked, printable
from smith_server.core.errors import failure

_LLM_LEAVES = (
    "api_key_env",
    "api_url",
    "connect_timeout",
    "recv_timeout",
    "retry_backoff_ms",
    "retry_max_retries",
    "send_timeout",
    "stream_retry_after_output",
    "stream_stall_timeout",
    "timeout",
)
OVERRIDABLE = (
    "default_model",
    "index_file",
    "active_role",
    "tool_step_budget",
    "empty_response_retry_max_retries",
    "empty_response_retry_backoff_ms",
    *(f"llm_config.{name}" for name in _LLM_LEAVES),
    *(f"context_management.{name}" for name in children(ContextManagement)),
)
"""What may be changed at run time, besides `models.` with any name."""


class Effective(Protocol):
    """The effective settings as a tree, and the layer of each value that is set."""

    @property
    def tree(self) -> Mapping[str, Any]: ...

    @property
    def origin(self) -> Mapping[str, str]: ...


def is_overridable_path(path: str) -> bool:
    """Whether the setting at a dotted path may be changed at run time; never a whole table."""
    return path in OVERRIDABLE or (path.startswith("models.") and path.strip() != "models.")


def split(path: str) -> Path:
    """The names in a dotted path; behind `models.` everything is one name, dots included."""
    head, dot, rest = path.partition(".")
    return (head, rest) if head == "models" and dot else tuple(path.split("."))


def typed(text: str) -> Any:
    """What a person means by a text: the JSON value that it is, else the text itself."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def valid(path: str, value: Any) -> Any:
    """`value` as it is kept. Raises a `schema` failure that names the path when it may not be set, or not to that."""
    known(path)
    key = key_at(split(path))
    assert key is not None, "what may be overridden is in the schema"
    try:
        return checked(key, value)
    except BadValue as problem:
        raise failure("schema", "invalid_setting", f"`{path}` {problem}.") from None


def known(path: str) -> None:
    """Raise a `schema` failure when a path may not be changed at run time."""
    if not is_overridable_path(path):
        file = "config.toml in ~/.config/smith, or where SMITH_HOME says"
        text = f"`{printable(path)}` cannot be changed with /config. Set it in the settings file: {file}."
        if key_at(split(path)) is None:
            near = difflib.get_close_matches(path[:80], (key.dotted for key in all_keys()), 1)
            hint = f" Did you mean `{near[0]}`?" if near else " /config lists them."
            text = f"There is no setting `{printable(path)}`.{hint}"
        raise failure("schema", "not_overridable", text)


def is_old(patch: Mapping[str, Any]) -> bool:
    """Whether a patch has the shape of an early version, of which nothing is taken."""
    return isinstance(patch.get("entries"), list)


def with_value(patch: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The patch with one value set. One of the early shape begins anew."""
    tree: Any = value
    for name in reversed(split(path)):
        tree = {name: tree}
    return over({} if is_old(patch) else patch, tree)


def without(patch: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The patch without one value and without the tables that are empty then."""
    return _without(patch, split(path))


def _without(tree: Mapping[str, Any], path: Path) -> dict[str, Any]:
    rest = {name: value for name, value in tree.items() if name != path[0]}
    inner = tree.get(path[0])
    if len(path) == 1 or not isinstance(inner, Mapping):
        return rest if len(path) == 1 else dict(tree)
    kept = _without(inner, path[1:])
    return {name: kept if name == path[0] else value for name, value in tree.items()} if kept else rest


def shadows(path: str, layer: str, loaded: Effective) -> Iterator[str]:
    """Why a setting of a layer has no effect, or not everywhere: sentences for the person.

    `loaded` has the settings with that layer in it.
    """
    above = loaded.origin.get(path, layer)
    if above != layer:
        yield f"`{path}` is also set by {above}, and that holds."
    role = loaded.tree.get("active_role") or "direct"
    before = {"default_model": ("models.default", f"models.{role}"), "models.default": (f"models.{role}",)}
    for other in before.get(path, ()):
        if get(loaded.tree, split(other)):
            yield f"`{other}` is set too and goes before it."


def overridable_paths(tree: Mapping[str, Any]) -> tuple[str, ...]:
    """What may be changed at run time, with the names that are under `models` now."""
    names = dict.fromkeys(("default", *tree.get("models", {})))
    return (*OVERRIDABLE, *(f"models.{name}" for name in names))


def values_of(patch: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The overrides in a patch by dotted path."""
    for path, value in leaves(patch):
        yield ".".join(path), value
