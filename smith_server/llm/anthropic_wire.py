"""Events of an Anthropic Messages answer: their typed shape, and a patient reading of others."""

from typing import Any

import msgspec
from msgspec import Struct

from smith_server.core.messages import Usage
from smith_server.llm import loose_json
from smith_server.llm.openai_wire import count


class Delta(Struct, gc=False):
    """What an event adds to a block, or to the message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class Message(Struct, gc=False):
    """One event of a stream; which fields it has follows from its type."""

    type: str = ""
    index: int | None = None
    message: Any = None
    content_block: Any = None
    delta: Delta | None = None
    usage: Any = None
    error: Any = None


_MESSAGE = msgspec.json.Decoder(Message)

decode_typed = _MESSAGE.decode
"""Bytes → `Message`, for what is exactly as documented. Raises `msgspec.MsgspecError` or `UnicodeError`."""


class Reported(Struct, frozen=True):
    """Usage as the vendor counts it: `input` is what no cache had a part in."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def disjoint(self) -> Usage:
        """The same tokens, each in one class only."""
        return Usage(self.input, self.cache_write, self.cache_read, self.output)

    def updated(self, usage: Any) -> "Reported":
        """With what a later report says: only a number that is not zero replaces an earlier one."""
        if not isinstance(usage, dict):
            return self
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        later = (count(usage.get(name)) for name in names)
        earlier = (self.input, self.output, self.cache_read, self.cache_write)
        return Reported(*(new or old for new, old in zip(later, earlier, strict=True)))


def decode_loosely(data: bytes) -> Message | None:
    """The event in `data`, leaving out fields of a wrong type; None for JSON that is no object.

    Raises `loose_json.Malformed`.
    """
    value = loose_json.decode(data)
    if not isinstance(value, dict):
        return None
    index, delta = value.get("index"), value.get("delta")
    return Message(
        text_of(value.get("type")),
        index if isinstance(index, int) else None,
        value.get("message"),
        value.get("content_block"),
        _delta(delta) if isinstance(delta, dict) else None,
        value.get("usage"),
        value.get("error"),
    )


def text_of(value: Any) -> str:
    """A text, "" for anything else."""
    return value if isinstance(value, str) else ""


def _delta(value: dict[str, Any]) -> Delta:
    names = ("type", "text", "thinking", "signature", "partial_json", "stop_reason")
    return Delta(*(text_of(value.get(name)) for name in names))
