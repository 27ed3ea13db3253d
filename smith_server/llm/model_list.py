"""The list of models that a server answers with."""

from collections.abc import Mapping, Sequence
from typing import Any

from smith_server.core.errors import failure
from smith_server.llm import advice, loose_json
from smith_server.llm.presets import Preset

MOST_LIST = 8 * 1024 * 1024
"""Bytes of a list that are read."""

_MOST_IDS = 5000


def ids_in(body: bytes, preset: Preset) -> tuple[str, ...]:
    """The ids in a list of models, in its order.

    Raises `AgentFailure` (`protocol`, `protocol_error`) for a body that is no such list.
    """
    return tuple(name for name, _ in items_in(body, preset))


def items_in(body: bytes, preset: Preset) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The same with what the server says of each."""
    try:
        value = loose_json.decode(body)
    except loose_json.Malformed as problem:
        raise failure("protocol", "protocol_error", advice.no_list(preset), cause=str(problem)) from problem
    items = value.get("data") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise failure("protocol", "protocol_error", advice.no_list(preset))
    named = ((_id(item), item if isinstance(item, dict) else {}) for item in items[:_MOST_IDS])
    return [(name, item) for name, item in named if name]


def _id(item: Any) -> str:
    name = item.get("id") if isinstance(item, dict) else item
    return name if isinstance(name, str) else ""
