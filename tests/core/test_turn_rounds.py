"""Rounds of a turn: calls side by side, what stands behind a report, attempts at one request."""

import asyncio
from typing import Any

from smith_server.core.errors import agent_error
from smith_server.core.events import Event, RequestFinished, RequestRetried, RequestStarted, UsageUpdated
from smith_server.core.messages import Text, ToolMessage, Usage
from smith_server.core.ports import Done, Failed
from smith_server.core.tool import Effect, ToolContext, ToolResult
from smith_server.core.turn import run_turn
from smith_server.llm.errors import judged
from smith_server.llm.retry import Retries, RetryRules
from tests.core.test_turn import begun, done
from tests.fakes.provider import FakeProvider
from tests.fakes.turns import FakeTool, call, calls, turn_input

NO_WAIT = RetryRules(transport_waits=(0,), empty_waits=(0,))


def broken(usage: Usage | None = None) -> Failed:
    return Failed(judged(agent_error("transport", "reset", "The connection broke."), "none"), usage=usage)


async def test_neighbours_that_may_run_side_by_side_do() -> None:
    running, most, order = 0, 0, list[str]()

    async def work(args: Any, context: ToolContext) -> ToolResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3 if context.call_id == "a" else 1):
            await asyncio.sleep(0)
        running -= 1
        order.append(context.call_id)
        return ToolResult(context.call_id)

    tools = [FakeTool("look", Effect.READ, work), FakeTool("change", Effect.EDIT, work)]
    made = [call(name, id=id) for name, id in (("look", "a"), ("look", "b"), ("change", "c"), ("change", "d"))]
    talk = begun()
    await run_turn(turn_input(FakeProvider([calls(*made)], [done("ok")]), tools), talk, lambda event: None)
    assert (most, order) == (2, ["b", "a", "c", "d"])
    assert [message.content for message in talk.messages if isinstance(message, ToolMessage)] == ["a", "b", "c", "d"]


async def test_calls_behind_a_report_are_skipped() -> None:
    tools = [FakeTool("report", Effect.REPORT), FakeTool("change", Effect.EDIT)]
    made = calls(call("change", id="a"), call("report", id="b"), call("change", id="c"))
    talk = begun()
    end = await run_turn(turn_input(FakeProvider([made]), tools), talk, lambda event: None)
    assert end.stop_reason == "completed"
    results = [message for message in talk.messages if isinstance(message, ToolMessage)]
    assert [(result.call_id, result.code) for result in results] == [("a", ""), ("b", ""), ("c", "skipped")]
    assert tools[1].ran == ["hi"]


async def test_a_report_that_is_rejected_ends_nothing() -> None:
    async def reject(args: Any, context: ToolContext) -> ToolResult:
        return ToolResult("no", ok=False, code="invalid_report")

    provider = FakeProvider([calls(call("report"))], [done("I see.")])
    end = await run_turn(turn_input(provider, [FakeTool("report", Effect.REPORT, reject)]), begun(), lambda event: None)
    assert (end.stop_reason, len(provider.requests)) == ("completed", 2)


async def test_every_attempt_is_told_and_what_it_used_counts() -> None:
    events: list[Event] = []
    empty = Done((), "stop", Usage(input=10, output=1))
    provider = FakeProvider([broken(Usage(input=7))], [empty], [done("ok", Usage(input=10, output=2))])
    turn = turn_input(provider, retries=Retries(NO_WAIT))
    end = await run_turn(turn, begun(), events.append)
    assert end.usage == Usage(input=27, output=3, requests=3)
    assert [event.attempt for event in events if isinstance(event, RequestStarted)] == [1, 2, 3]
    assert [event.usage.input for event in events if isinstance(event, RequestFinished)] == [7, 10, 10]
    assert [(event.layer, event.attempt) for event in events if isinstance(event, RequestRetried)] == [
        ("transport", 2),
        ("empty", 3),
    ]
    assert [event.turn_usage for event in events if isinstance(event, UsageUpdated)] == [end.usage]
    assert provider.requests[0] == provider.requests[1] == provider.requests[2]


async def test_a_cancel_ends_the_wait_for_another_attempt() -> None:
    provider = FakeProvider([broken()], [done("too late")])
    turn = turn_input(provider, retries=Retries(RetryRules(transport_waits=(60_000,))))

    def cancel(event: Event) -> None:
        if isinstance(event, RequestRetried):
            asyncio.get_running_loop().call_soon(turn.token.request)

    end = await asyncio.wait_for(run_turn(turn, begun(), cancel), 5)
    assert (end.stop_reason, len(provider.requests)) == ("cancelled", 1)


async def test_answers_that_stay_empty_are_an_error_in_the_end() -> None:
    provider = FakeProvider(*([Done((Text(" "),), "stop")] for _ in range(3)))
    end = await run_turn(turn_input(provider, retries=Retries(NO_WAIT)), begun(), lambda event: None)
    assert end.error is not None
    assert (end.stop_reason, end.error.kind, end.error.code) == ("error", "protocol", "empty_response")
    assert len(provider.requests) == 3


async def test_a_transport_that_stays_broken_is_an_error_that_may_pass() -> None:
    provider = FakeProvider(*([broken()] for _ in range(3)))
    end = await run_turn(turn_input(provider, retries=Retries(NO_WAIT)), begun(), lambda event: None)
    assert end.error is not None
    assert (end.stop_reason, end.error.kind, end.error.retryable) == ("error", "transport", True)
    assert len(provider.requests) == 3
