"""The list of models that a server answers with."""

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
    try:
        value = loose_json.decode(body)
    except loose_json.Malformed as problem:
        raise failure("protocol", "protocol_error", advice.no_list(preset), cause=str(problem)) from problem
    items = value.get("data") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise failure("protocol", "protocol_error", advice.no_list(preset))
    return tuple(name for name in map(_id, items[:_MOST_IDS]) if name)


def _id(item: Any) -> str:
    name = item.get("id") if isinstance(item, dict) else item
    return name if isinstance(name, str) else ""
