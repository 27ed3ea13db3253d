"""Pieces of OpenAI streams for tests."""

import json
from collections.abc import Iterable
from typing import Any

from smith_server.core.ports import Delta, Done, Failed
from smith_server.llm.openai_stream import OpenAIReader
from smith_server.llm.presets import Preset

DONE = b"data: [DONE]\n\n"


def event(delta: dict[str, Any] | None = None, *, reason: str | None = None, **more: Any) -> bytes:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def text(piece: str) -> bytes:
    return event({"content": piece})


def calling(**fragment: Any) -> bytes:
    """A chunk with one fragment of a call; `name` and `arguments` are those of its function."""
    function = {key: fragment.pop(key) for key in ("name", "arguments") if key in fragment}
    return event({"tool_calls": [{**fragment, "function": function}]})


def read(
    chunks: Iterable[bytes], preset: Preset | None = None, *, end: Any = "eof", **more: Any
) -> tuple[list[Delta], Done | Failed]:
    """The deltas of a stream, and how it ended."""
    reader = OpenAIReader(preset or Preset("custom", "http://maker.test/v1"), **more)
    deltas: list[Delta] = []
    for chunk in chunks:
        deltas += reader.feed(chunk)
    *rest, last = reader.end(end)
    assert isinstance(last, Done | Failed)
    return deltas + rest, last
