"""Chunks of an OpenAI Chat Completions answer: their typed shape, and a patient reading of others."""

from typing import Any

import msgspec
from msgspec import Struct

from smith_server.core.messages import Usage
from smith_server.llm import loose_json
from smith_server.llm.assemble import Kind


class Function(Struct, gc=False):
    """Name and arguments of a call, or a piece of them."""

    name: str | None = None
    arguments: Any = None


class Fragment(Struct, gc=False):
    """A piece of a call."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None
    extra_content: Any = None


class Delta(Struct, gc=False):
    """A piece of the message, or the whole of it."""

    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[Fragment] | None = None
    function_call: Function | None = None


class Choice(Struct, gc=False):
    """One of several answers side by side."""

    index: int | None = 0
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    usage: Any = None
    error: Any = None


class Chunk(Struct, gc=False):
    """One event, or one whole answer."""

    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(Chunk)

decode_typed = _CHUNK.decode
"""Bytes → `Chunk`, for what is exactly as documented. Raises `msgspec.MsgspecError` or `UnicodeError`."""


class Reported(Struct, frozen=True):
    """Usage as the vendor counts it: `input` includes what was read from and written to a cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def disjoint(self) -> Usage:
        """The same tokens, each in one class only."""
        fresh = max(0, self.input - self.cache_read - self.cache_write)
        return Usage(fresh, self.cache_write, self.cache_read, self.output)


def decode_loosely(data: bytes) -> Chunk | None:
    """The chunk in `data`, leaving out fields of a wrong type; None for JSON that is no object.

    Raises `loose_json.Malformed`.
    """
    value = loose_json.decode(data)
    return loosely(value) if isinstance(value, dict) else None


def loosely(value: dict[str, Any]) -> Chunk:
    """A decoded object as a chunk, leaving out fields of a wrong type."""
    choices = value.get("choices")
    found = [_choice(each) for each in choices if isinstance(each, dict)] if isinstance(choices, list) else None
    return Chunk(found, value.get("usage"), value.get("error"))


def reported(usage: Any) -> Reported | None:
    """The usage object of a chunk; None when it counts nothing."""
    if not isinstance(usage, dict) or not ("prompt_tokens" in usage or "completion_tokens" in usage):
        return None
    details = usage.get("prompt_tokens_details")
    known = details if isinstance(details, dict) else {}
    cached = known.get("cached_tokens")
    if cached is None:
        cached = usage.get("prompt_cache_hit_tokens")
    sent, said, written = usage.get("prompt_tokens"), usage.get("completion_tokens"), known.get("cache_write_tokens")
    return Reported(count(sent), count(said), count(cached), count(written))


def told_cost(usage: Any) -> float | None:
    """US dollars in a usage object of OpenRouter: its charge, and where the key is the person's, the vendor's too."""
    if not isinstance(usage, dict):
        return None
    charged, details = _dollars(usage.get("cost")), usage.get("cost_details")
    if charged is None or usage.get("is_byok") is not True:
        return charged
    upstream = _dollars(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
    return None if upstream is None else charged + upstream


def _dollars(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e9 else None


def part_text(part: Any) -> tuple[Kind, str]:
    """Kind and text of a content part. Reasoning may be a list of parts itself."""
    if isinstance(part, str):
        return "text", part
    if not isinstance(part, dict):
        return "text", ""
    if part.get("type") == "thinking":
        inner = part.get("thinking")
        return "thinking", "".join(part_text(each)[1] for each in (inner if isinstance(inner, list) else [inner]))
    text = part.get("text") if part.get("type", "text") == "text" else None
    return "text", text if isinstance(text, str) else ""


def _choice(value: dict[str, Any]) -> Choice:
    index = value.get("index", 0)
    return Choice(
        index if isinstance(index, int) or index is None else -1,
        _delta(value.get("delta")),
        _delta(value.get("message")),
        _text(value.get("finish_reason")),
        value.get("usage"),
        value.get("error"),
    )


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    content, details, calls = value.get("content"), value.get("reasoning_details"), value.get("tool_calls")
    return Delta(
        content if isinstance(content, str | list) else None,
        _text(value.get("reasoning_content")),
        _text(value.get("reasoning")),
        details if isinstance(details, list) else None,
        _text(value.get("refusal")),
        [_fragment(each) for each in calls if isinstance(each, dict)] if isinstance(calls, list) else None,
        _function(value.get("function_call")),
    )


def _fragment(value: dict[str, Any]) -> Fragment:
    index = value.get("index")
    return Fragment(
        index if isinstance(index, int) else None,
        _text(value.get("id")),
        _function(value.get("function")),
        value.get("extra_content"),
    )


def _function(value: Any) -> Function | None:
    return Function(_text(value.get("name")), value.get("arguments")) if isinstance(value, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 1e15 else 0
