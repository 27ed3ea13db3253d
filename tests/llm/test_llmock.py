"""Against a model server that somebody else wrote, with its faults."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from llmock.pytest_plugin import LLMock
from llmock.testing import LLMockServer

from smith_server.core.cancel import CancelToken
from smith_server.core.messages import AssistantMessage, Call, Text, ToolMessage, ToolSpec, UserMessage
from smith_server.core.ports import Delta, Done, Failed, Request, TextDelta
from smith_server.llm.http import Connections
from smith_server.llm.presets import PRESETS, Preset
from smith_server.llm.provider import HttpProvider
from smith_server.llm.stall import Timeouts

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
REQUEST = Request("gpt-4o", "Be brief.", (UserMessage("1", "Hi"),), (ToolSpec("read", "Read a file.", SCHEMA),))


@pytest.fixture(scope="module")
def running() -> Iterator[LLMockServer]:
    with LLMockServer() as server:
        yield server


@pytest.fixture
def model(running: LLMockServer) -> LLMock:
    return LLMock(running).reset().tool_mode("off")


@pytest.fixture(params=["custom", "anthropic"])
def preset(request: pytest.FixtureRequest, model: LLMock) -> Preset:
    """A provider of either protocol, at this server."""
    anthropic = request.param == "anthropic"
    address = model.url + ("/anthropic/v1" if anthropic else "/v1")
    return msgspec.structs.replace(PRESETS[request.param], base_url=address, timeouts=Timeouts(stall=3.0))


async def heard(preset: Preset, connections: Connections, request: Request = REQUEST) -> list[Delta]:
    return [delta async for delta in HttpProvider(preset, connections, "sk-1").stream(request, CancelToken())]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_an_answer_is_heard_in_full(
    stream: bool, model: LLMock, preset: Preset, connections: Connections
) -> None:
    model.reply("Hello, wörld \U0001f642 again and again.")
    *deltas, end = await heard(preset, connections, Request("gpt-4o", "", REQUEST.messages, stream=stream))
    assert isinstance(end, Done)
    assert (end.parts, end.stop) == ((Text("Hello, wörld \U0001f642 again and again."),), "stop")
    assert "".join(each.text for each in deltas if isinstance(each, TextDelta)) == end.parts[0].text  # type: ignore[union-attr]
    assert end.usage is not None
    assert end.usage.output > 0


async def test_a_call_that_comes_in_pieces_goes_back_with_its_result(
    model: LLMock, preset: Preset, connections: Connections
) -> None:
    model.call_tool("read", {"path": "a b/ü.py"})
    (end,) = await heard(preset, connections)
    assert isinstance(end, Done)
    (call,) = end.parts
    assert isinstance(call, Call)
    assert (call.name, json.loads(call.arguments), end.stop) == ("read", {"path": "a b/ü.py"}, "tool_use")
    model.reply("Thanks.")
    reply = AssistantMessage("2", end.parts, "gpt-4o", "tool_use")
    talk = (*REQUEST.messages, reply, ToolMessage("3", call.id, "read", "x = 1"))
    assert isinstance((await heard(preset, connections, Request("gpt-4o", "", talk)))[-1], Done)


FAULTS: dict[str, tuple[Any, str]] = {
    "disconnect": (lambda model: model.disconnect(after_chunks=2), "stream_truncated"),
    "truncate": (lambda model: model.truncate(after_chunks=2), "stream_truncated"),
    "corrupt": (lambda model: model.corrupt(after_chunks=2), "protocol_error"),
    "stall": (lambda model: model.stall(after_chunks=2, seconds=8), "stall_timeout"),
}


@pytest.mark.parametrize(("fault", "code"), FAULTS.values(), ids=FAULTS)
async def test_a_broken_stream_is_a_named_error(
    fault: Any, code: str, model: LLMock, preset: Preset, connections: Connections
) -> None:
    fault(model)
    *deltas, end = await heard(preset, connections)
    assert isinstance(end, Failed)
    assert end.error.code == code
    assert "".join(each.text for each in deltas if isinstance(each, TextDelta)) == "".join(
        part.text for part in end.parts if isinstance(part, Text)
    )


REFUSALS: dict[str, tuple[Any, str, float | None]] = {
    "401": (lambda model: model.fail(401), "auth", None),
    "429": (lambda model: model.rate_limit(retry_after=2), "rate_limited", 2),
    "503": (lambda model: model.outage(), "overloaded", None),
    "400": (lambda model: model.context_overflow(), "bad_request", None),
}


@pytest.mark.parametrize(("fault", "code", "wait"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_a_named_error(
    fault: Any, code: str, wait: float | None, model: LLMock, preset: Preset, connections: Connections
) -> None:
    fault(model)
    (end,) = await heard(preset, connections)
    assert isinstance(end, Failed)
    assert end.error.code == code
    assert wait is None or end.retry_after == wait


async def test_broken_arguments_are_kept_as_they_came(model: LLMock, preset: Preset, connections: Connections) -> None:
    model.tool_mode("auto").break_tool_call("malformed_arguments")
    end = (await heard(preset, connections))[-1]
    assert isinstance(end, Done)
    (call,) = (part for part in end.parts if isinstance(part, Call))
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)
