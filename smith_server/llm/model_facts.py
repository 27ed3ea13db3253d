"""What servers tell of their models, each in its own way, as entries of the catalog."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import msgspec

from smith_server.core.errors import AgentFailure
from smith_server.llm import loose_json
from smith_server.llm.catalog import Model
from smith_server.llm.model_list import items_in
from smith_server.llm.presets import Preset

Fetch = Callable[[str, bytes, str], Awaitable[bytes]]
"""The body of an answer: path, body of the request (empty: a GET), base address ("" for the provider's)."""

_WINDOWS = (
    "loaded_context_length",
    "context_length",
    "max_model_len",
    "max_context_length",
    "context_window",
    "max_input_tokens",
)
_OUTPUTS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
_MOST = 1_000_000_000
_PRICES = {
    "prompt": "input",
    "completion": "output",
    "input_cache_write": "cache_write",
    "input_cache_read": "cache_read",
}
_MILLION = 1_000_000


async def facts(preset: Preset, model: str, fetch: Fetch) -> Mapping[str, Model]:
    """The models of a server, or of an Ollama `model` alone. Raises `AgentFailure` for a server without an answer."""
    if preset.name == "ollama":
        return {model: _shown(await fetch("/api/show", msgspec.json.encode({"model": model}), _root(preset)))}
    found = _listed(await fetch("/models", b"", ""), preset)
    if preset.name != "custom" or any(each.context_window for each in found.values()):
        return found
    for path in ("/models", "/api/v0/models"):
        try:
            more = _listed(await fetch(path, b"", _root(preset)), preset)
        except AgentFailure:
            continue
        found = {**found, **{name: each for name, each in more.items() if each.context_window}}
    return found


def _root(preset: Preset) -> str:
    return preset.base_url.removesuffix("/v1")


def _listed(body: bytes, preset: Preset) -> dict[str, Model]:
    return {name: _of_item(item) for name, item in items_in(body, preset)}


def _of_item(item: Mapping[str, Any]) -> Model:
    top, meta = _table(item, "top_provider"), _table(item, "meta")
    window = _first([_started_with(item), top.get("context_length"), *map(item.get, _WINDOWS), meta.get("n_ctx_train")])
    output = _first([*map(top.get, _OUTPUTS), *map(item.get, _OUTPUTS)])
    return Model(window, output, tuple(_abilities(item)), _price(_table(item, "pricing")))


def _price(told: Mapping[str, Any]) -> Mapping[str, float]:
    """Texts of US dollars per token, as OpenRouter has them. A price below zero says that it depends."""
    found = {ours: _dollars(told.get(theirs)) for theirs, ours in _PRICES.items()}
    price = {name: round(each * _MILLION, 9) for name, each in found.items() if each is not None}
    if "input" not in price or "output" not in price:
        return {}
    return {"cache_write": price["input"], "cache_read": price["input"], **price}


def _dollars(value: Any) -> float | None:
    try:
        found = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        return None
    return found if 0 <= found < _MOST else None


def _abilities(item: Mapping[str, Any]) -> Iterator[str]:
    parameters, inputs = item.get("supported_parameters"), _table(item, "architecture").get("input_modalities")
    if isinstance(parameters, list):
        yield from (name for name in ("tools", "reasoning") if name in parameters)
    if isinstance(inputs, list) and "image" in inputs:
        yield "images"


def _started_with(item: Mapping[str, Any]) -> int | None:
    """The window that a llama.cpp server gives the model, among the arguments that it is started with."""
    arguments = _table(item, "status").get("args")
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    for at, word in enumerate(words):
        name, _, value = word.partition("=")
        value = value or (words[at + 1] if at + 1 < len(words) else "")
        if name in ("--ctx-size", "-c") and value.isascii() and value.isdigit():
            return int(value)
    return None


def _shown(body: bytes) -> Model:
    """Ollama's answer: the window that the model is set to, else the one that it was made for."""
    try:
        value = loose_json.decode(body)
    except loose_json.Malformed:
        return Model()
    shown = value if isinstance(value, dict) else {}
    told = shown.get("parameters")
    lines = [line.split() for line in told.splitlines()] if isinstance(told, str) else []
    limits = [int(line[1]) for line in lines if len(line) == 2 and line[0] == "num_ctx" and line[1].isdecimal()]
    own = [value for name, value in _table(shown, "model_info").items() if name.endswith(".context_length")]
    able = shown.get("capabilities")
    names = {"tools": "tools", "vision": "images", "thinking": "reasoning"}
    abilities = tuple(ours for theirs, ours in names.items() if isinstance(able, list) and theirs in able)
    return Model(_first([*limits, *own]), None, abilities)


def _table(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def _first(values: list[Any]) -> int | None:
    """The first value that is a size."""
    return next((value for value in values if type(value) is int and 0 < value <= _MOST), None)
