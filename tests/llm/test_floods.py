"""Servers that drip, flood, ask us to wait or call nonsense: turns stay bounded, told and cancellable."""

import asyncio
import json
import time
import tracemalloc
from typing import Any

import pytest

from smith_server.core.budget import Budget
from smith_server.core.cancel import CancelToken
from smith_server.core.events import Event, MessageAdded, RequestRetried
from smith_server.core.messages import Text, ToolMessage
from smith_server.core.ports import Done, TextDelta
from smith_server.core.turn import TurnEnd, run_turn
from smith_server.llm.http import Connections
from smith_server.llm.provider import HttpProvider
from smith_server.llm.retry import Retries, RetryRules
from tests.core.test_turn import begun
from tests.fakes.turns import FakeTool, turn_input
from tests.llm.hearing import KEY, SOON, custom, failed, heard, outcome
from tests.llm.server import Answering, Line, Server, serving
from tests.llm.streams import DONE, calling, event, text

PROMISED = 1.0
"""Seconds in which a cancel has stopped the work."""


async def turn(server: Server, connections: Connections, **more: Any) -> tuple[TurnEnd, Any, list[Event]]:
    """A whole turn against a server: how it ended, its conversation, its events."""
    events: list[Event] = []
    talk = begun()
    limits = more.pop("limits", {})
    provider = HttpProvider(custom(server, **limits), connections, KEY)
    given = turn_input(provider, [FakeTool()], **more)
    return await run_turn(given, talk, events.append), talk, events


async def drip(line: Line) -> None:
    await line.head()
    while True:
        await line.chunks(b"d")
        await asyncio.sleep(0.02)


async def drip_after_text(line: Line) -> None:
    await line.head()
    await line.chunks(text("Hel"))
    while True:
        await line.chunks(b"d")
        await asyncio.sleep(0.02)


async def comment_after_text(line: Line) -> None:
    await line.head()
    await line.chunks(text("Hel"))
    while True:
        await line.chunks(b": still here\n\n")
        await asyncio.sleep(0.02)


async def headers_only(line: Line) -> None:
    await line.head()
    await line.until_gone()


async def nothing(line: Line) -> None:
    await line.until_gone()


@pytest.mark.parametrize("silence", [drip, drip_after_text, comment_after_text, headers_only, nothing])
async def test_bytes_that_say_nothing_do_not_keep_an_answer_alive(silence: Answering, connections: Connections) -> None:
    began = time.monotonic()
    end = failed(await outcome(silence, connections, stall=0.3, queue=0.3))
    assert end.error.code == "stall_timeout"
    assert time.monotonic() - began < SOON


async def test_comments_before_an_answer_are_bounded_in_all(connections: Connections) -> None:
    async def queue(line: Line) -> None:
        await line.head()
        while True:
            await line.chunks(b": waiting\n\n")
            await asyncio.sleep(0.02)

    end = failed(await outcome(queue, connections, stall=0.2, queue=0.6))
    assert end.error.code == "stall_timeout"


WAITS = {"2": 2.0, "0": 0.0, "1000000000": 60.0, "Thu, 01 Jan 1970 00:00:00 GMT": 0.0, "soon": 0.001, "-3": 0.001}


@pytest.mark.parametrize(("said", "seconds"), WAITS.items(), ids=WAITS)
async def test_a_wait_that_is_asked_for_is_shown_capped_and_can_be_cancelled(
    said: str, seconds: float, connections: Connections
) -> None:
    async def refuse(line: Line) -> None:
        await line.reply(429, b"{}", retry_after=said)

    retried: list[RequestRetried] = []
    token = CancelToken()

    def hear(one: Event) -> None:
        if isinstance(one, RequestRetried):
            retried.append(one)
            asyncio.get_running_loop().call_soon(token.request)

    async with serving(refuse) as server:
        provider = HttpProvider(custom(server), connections, KEY)
        retries = Retries(RetryRules(transport_waits=(1,)))
        began = time.monotonic()
        end = await run_turn(turn_input(provider, token=token, retries=retries), begun(), hear)
    assert time.monotonic() - began < PROMISED
    assert end.stop_reason == "cancelled"
    assert [round(each.delay_ms / 1000, 3) for each in retried] == [seconds]
    assert retried[0].error.code == "rate_limited"
    assert len(server.asked) == 1


async def test_one_event_of_ten_megabytes_is_read_without_holding_it_many_times(connections: Connections) -> None:
    words = "x" * (10 << 20)

    async def large(line: Line) -> None:
        await line.head()
        data = text(words)
        await line.chunks(*(data[at : at + 65536] for at in range(0, len(data), 65536)))
        await line.chunks(event(reason="stop"), DONE)
        await line.end()

    async with serving(large) as server:
        tracemalloc.start()
        end = (await heard(HttpProvider(custom(server), connections, KEY)))[-1]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert end == Done((Text(words),), "stop")
    assert peak < 12 * len(words)


async def test_a_cancel_ends_a_flood_of_tiny_events(connections: Connections) -> None:
    async def flood(line: Line) -> None:
        await line.head()
        block = text("x") * 2000
        while True:
            await line.chunks(block)

    token = CancelToken()
    seen = 0
    async with serving(flood) as server:
        provider = HttpProvider(custom(server), connections, KEY)
        asked = 0.0

        def hear(one: Event) -> None:
            nonlocal seen, asked
            seen += 1
            if seen == 20:
                asked = time.monotonic()
                token.request()

        end = await run_turn(turn_input(provider, token=token), begun(), hear)
    assert end.stop_reason == "cancelled"
    assert time.monotonic() - asked < PROMISED


async def test_five_hundred_calls_in_one_answer_stop_at_the_budget(connections: Connections) -> None:
    async def many(line: Line) -> None:
        calls = [calling(index=at, id=f"c{at}", name="echo", arguments='{"text":"x"}') for at in range(500)]
        await line.stream(*calls, event(reason="tool_calls"), DONE)

    async with serving(many) as server:
        end, talk, _ = await turn(server, connections, budget=Budget(max_steps=50, max_requests=5))
    results = [message for message in talk.messages if isinstance(message, ToolMessage)]
    assert len(results) == 500
    assert sum(message.ok for message in results) == 50
    assert {message.code for message in results if not message.ok} == {"budget_exhausted"}
    assert end.stop_reason == "budget_exhausted"


NONSENSE = {
    "a tool that does not exist": ("fly", '{"text":"x"}', "unknown_tool"),
    "a list": ("echo", "[1]", "invalid_arguments"),
    "null": ("echo", "null", "invalid_arguments"),
    "a number": ("echo", "7", "invalid_arguments"),
    "half an object": ("echo", '{"text":', "invalid_arguments"),
    "five megabytes": ("echo", json.dumps({"text": 1, "more": "x" * (5 << 20)}), "invalid_arguments"),
}


@pytest.mark.parametrize(("name", "arguments", "code"), NONSENSE.values(), ids=NONSENSE)
async def test_a_call_that_cannot_be_run_is_told_to_the_model_and_the_turn_goes_on(
    name: str, arguments: str, code: str, connections: Connections
) -> None:
    async def call(line: Line) -> None:
        await line.stream(calling(index=0, id="c1", name=name, arguments=arguments), event(reason="tool_calls"), DONE)

    async def answer(line: Line) -> None:
        await line.stream(text("fine"), event(reason="stop"), DONE)

    async with serving(call, answer) as server:
        end, talk, events = await turn(server, connections)
    result = talk.messages[2]
    assert (end.stop_reason, result.code, talk.messages[-1].text) == ("completed", code, "fine")
    assert len([each for each in events if isinstance(each, MessageAdded)]) == 3
    sent = server.asked[1].json["messages"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) is not None
    assert sent[3]["tool_call_id"] == "c1"
    assert sent[3]["content"].startswith(code)


async def test_the_texts_of_a_flood_are_joined_per_read(connections: Connections) -> None:
    async def burst(line: Line) -> None:
        await line.head()
        await line.chunks(text("x") * 5000)
        await line.chunks(event(reason="stop"), DONE)
        await line.end()

    async with serving(burst) as server:
        *deltas, end = await heard(HttpProvider(custom(server), connections, KEY))
    assert end == Done((Text("x" * 5000),), "stop")
    assert sum(isinstance(each, TextDelta) for each in deltas) < 100
