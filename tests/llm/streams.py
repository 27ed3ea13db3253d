"""Pieces of OpenAI streams for tests."""

import json
from collections.abc import Iterable
from typing import Any

from smith_server.core.ports import Delta, Done, Failed
from smith_server.llm.anthropic_stream import AnthropicReader
from smith_server.llm.openai_stream import OpenAIReader
from smith_server.llm.presets import PRESETS, Preset
from smith_server.llm.reading import BodyReader

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
    return _heard(OpenAIReader(preset or Preset("custom", "http://maker.test/v1"), **more), chunks, end)


def read_anthropic(chunks: Iterable[bytes], *, end: Any = "eof", **more: Any) -> tuple[list[Delta], Done | Failed]:
    """The same for the other dialect."""
    return _heard(AnthropicReader(PRESETS["anthropic"], **more), chunks, end)


def _heard(reader: BodyReader, chunks: Iterable[bytes], end: Any) -> tuple[list[Delta], Done | Failed]:
    deltas: list[Delta] = []
    for chunk in chunks:
        deltas += reader.feed(chunk)
    *rest, last = reader.end(end)
    assert isinstance(last, Done | Failed)
    return deltas + rest, last


def sent(kind: str, **fields: Any) -> bytes:
    """One event of an Anthropic stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def begun(index: int, kind: str, **fields: Any) -> bytes:
    """A block begins."""
    return sent("content_block_start", index=index, content_block={"type": kind, **fields})


def more(index: int, kind: str, **fields: Any) -> bytes:
    """A piece of a block; `kind` without its `_delta`."""
    return sent("content_block_delta", index=index, delta={"type": f"{kind}_delta", **fields})


def ending(reason: str, **usage: int) -> tuple[bytes, bytes]:
    """The end of an Anthropic stream."""
    return sent("message_delta", delta={"stop_reason": reason}, usage=usage), sent("message_stop")
