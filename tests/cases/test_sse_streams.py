"""The streams of the case data, each whole, byte by byte and cut at random."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from smith_server.core.messages import Call, Part, Text, Thinking
from smith_server.core.ports import Delta, Done, Failed, TextDelta, ThinkingDelta
from smith_server.llm.answer import Answer
from smith_server.llm.anthropic_stream import AnthropicReader
from smith_server.llm.openai_stream import OpenAIReader
from smith_server.llm.presets import Preset

READERS = {"openai": OpenAIReader, "anthropic": AnthropicReader}

FOLDER = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent))
FILE = FOLDER / "sse_streams.jsonl"
LINES = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
CASES = [json.loads(line) for line in LINES]


def whole(chunks: list[bytes]) -> list[bytes]:
    return [b"".join(chunks)]


def as_given(chunks: list[bytes]) -> list[bytes]:
    return chunks


def by_byte(chunks: list[bytes]) -> list[bytes]:
    data = b"".join(chunks)
    return [data[at : at + 1] for at in range(len(data))]


def at_random(chunks: list[bytes]) -> list[bytes]:
    data, dice = b"".join(chunks), random.Random(len(chunks))
    cuts = sorted(dice.sample(range(len(data) + 1), min(9, len(data))))
    return [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


CUTS = [whole, as_given, by_byte, at_random]


@pytest.mark.parametrize("cut", CUTS, ids=[each.__name__ for each in CUTS])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_stream_is_read_as_expected_however_it_is_cut(case: dict[str, Any], cut: Any) -> None:
    given, expected = case["input"], case["expected"]
    chunks = [chunk.encode("latin-1") for chunk in given["chunks_latin1"]]
    found = played(given, cut(chunks))
    assert {key: found[key] for key in expected} == with_ids(expected, found)


def reading(given: dict[str, Any]) -> tuple[Answer, Any]:
    """What reads the stream of a case, without a socket."""
    headers = {**given.get("headers", {}), "content-encoding": given.get("content_encoding", "")}
    preset = Preset("custom")
    reader = READERS[given["shape"]](preset, headers.get("content-type", ""))
    return Answer(given.get("status", 200), headers, reader, preset), reader


def played(given: dict[str, Any], chunks: list[bytes]) -> dict[str, Any]:
    answer, reader = reading(given)
    deltas: list[Delta] = []
    for chunk in chunks:
        deltas += answer.feed(chunk)
    deltas += answer.end(given.get("end", "eof"))
    return shown(deltas, reader.reported)


def shown(deltas: list[Delta], used: Any) -> dict[str, Any]:
    *spoken, last = deltas
    assert isinstance(last, Done | Failed)
    text = "".join(each.text for each in spoken if isinstance(each, TextDelta))
    thinking = "".join(each.text for each in spoken if isinstance(each, ThinkingDelta))
    assert text == "".join(part.text for part in last.parts if isinstance(part, Text))
    assert thinking == "".join(part.text for part in last.parts if isinstance(part, Thinking))
    return {
        "text": text,
        "thinking": thinking,
        "replay_thinking": [part.replay for part in last.parts if isinstance(part, Thinking) and part.replay],
        "tool_calls": [call(part) for part in last.parts if isinstance(part, Call)],
        "usage": None if used is None else {key: getattr(used, key) for key in used.__struct_fields__},
        "stop_reason": last.stop if isinstance(last, Done) else "error",
        "error": None if isinstance(last, Done) else error(last),
    }


def call(part: Part) -> dict[str, Any]:
    assert isinstance(part, Call)
    try:
        arguments = json.loads(part.arguments)
    except ValueError:
        arguments = None
    fits = isinstance(arguments, dict)
    made: dict[str, Any] = {"id": part.id, "name": part.name, "arguments": arguments if fits else None}
    if not fits:
        made["invalid_arguments"] = True
    if "extra_content" in part.extra:
        made["extra_content"] = part.extra["extra_content"]
    return made


def error(failed: Failed) -> dict[str, Any]:
    made = {"code": failed.error.code, "retry": failed.error.retryable}
    return made if failed.retry_after is None else {**made, "retry_after_s": failed.retry_after}


def with_ids(expected: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The expectation with each `*` standing for the id that was made, if that is one of its own."""
    ids = [each["id"] for each in found["tool_calls"]]
    assert all(ids) and len(set(ids)) == len(ids)
    calls = [
        {**wanted, "id": ids[at]} if wanted["id"] == "*" and at < len(ids) else wanted
        for at, wanted in enumerate(expected.get("tool_calls", []))
    ]
    return {**expected, "tool_calls": calls} if "tool_calls" in expected else expected
