"""Whatever a model says and whenever somebody cancels, a conversation can be gone on with."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.core.budget import Budget
from smith_server.core.cancel import CancelToken
from smith_server.core.conversation import Conversation
from smith_server.core.errors import Cancelled, agent_error, failure
from smith_server.core.events import CallFinished, CallStarted, Event, MessageAdded
from smith_server.core.messages import AssistantMessage, Call, Text, ToolMessage, UserMessage
from smith_server.core.ports import Done, Failed, TextDelta, ThinkingDelta
from smith_server.core.tool import Effect, ToolContext, ToolResult
from smith_server.core.turn import TurnEnd, run_turn
from tests.core.test_conversation import unpaired
from tests.fakes.provider import FakeProvider
from tests.fakes.turns import FakeTool, turn_input

TOO_LATE = "This tool began after the cancel."


async def waits(args: Any, context: ToolContext) -> ToolResult:
    if context.token.requested:
        return ToolResult(TOO_LATE)
    for _ in range(3):
        await asyncio.sleep(0)
    return ToolResult(args.text)


async def fails(args: Any, context: ToolContext) -> ToolResult:
    raise RuntimeError("a bug")


async def refuses(args: Any, context: ToolContext) -> ToolResult:
    raise failure("tool", "no", "not today")


async def stops(args: Any, context: ToolContext) -> ToolResult:
    raise Cancelled


def tools() -> list[FakeTool]:
    return [
        FakeTool("look", Effect.READ, waits),
        FakeTool("change", Effect.EDIT, waits),
        FakeTool("bug", Effect.READ, fails),
        FakeTool("no", Effect.EXECUTE, refuses),
        FakeTool("stop", Effect.EDIT, stops),
        FakeTool("send", Effect.DELEGATE, waits),
        FakeTool("report", Effect.REPORT, waits),
    ]


names = st.sampled_from(["look", "look", "change", "bug", "no", "stop", "send", "report", "unknown"])
arguments = st.sampled_from(['{"text": "x"}', "{}", "no json", "[]", '{"text": 1}'])
made = st.lists(st.tuples(names, arguments), max_size=4)
reasons = st.sampled_from(["stop", "tool_use", "max_tokens", "content_filter"])
ends = st.sampled_from(["done", "done", "done", "failed", "nothing"])
said = st.sampled_from(["", " ", "so"])
replies = st.lists(st.tuples(said, made, reasons, ends), max_size=5)


def reply(at: int, spoken: str, calls: list[tuple[str, str]], reason: Any, end: str) -> list[Any]:
    """What a provider yields: thinking, some text, and one of three ends."""
    deltas: list[Any] = [ThinkingDelta("hm"), *([TextDelta(spoken)] if spoken else [])]
    parts = tuple(Call(f"call-{at}-{n}", name, given) for n, (name, given) in enumerate(calls))
    match end:
        case "done":
            return [*deltas, Done((*([Text(spoken)] if spoken else []), *parts), reason)]
        case "failed":
            return [*deltas, Failed(agent_error("transport", "reset", "gone"), (Text(spoken),) if spoken else ())]
        case _:
            return deltas


async def played(
    talk: Conversation, provider: FakeProvider, cancel_at: int, steps: int | None
) -> tuple[TurnEnd, list[Event]]:
    """One turn, cancelled when so many events were told."""
    token, events = CancelToken(), list[Event]()

    def emit(event: Event) -> None:
        events.append(event)
        if len(events) == cancel_at:
            token.request()

    turn = turn_input(provider, tools(), token=token, budget=Budget(steps, 500))
    return await run_turn(turn, talk, emit), events


def answered(events: list[Event]) -> list[str]:
    return [event.call_id for event in events if isinstance(event, CallFinished)]


@settings(max_examples=150, deadline=None)
@given(replies, st.integers(0, 40), st.one_of(st.none(), st.integers(1, 4)))
def test_a_conversation_is_whole_after_any_turn_and_any_cancel(
    spoken: list[Any], cancel_at: int, steps: int | None
) -> None:
    talk = Conversation()
    talk.begin_turn()
    talk.add(UserMessage(talk.mint(), "do it"))
    provider = FakeProvider(*(reply(at, *each) for at, each in enumerate(spoken)), [Done((Text("ended"),), "stop")])
    end, events = asyncio.run(played(talk, provider, cancel_at, steps))

    assert unpaired(talk) == []
    assert [event.message for event in events if isinstance(event, MessageAdded)] == talk.messages[1:]
    ids = [message.id for message in talk.messages]
    assert ids == sorted(set(ids))
    called = [call.id for each in talk.messages if isinstance(each, AssistantMessage) for call in each.calls]
    assert [each.call_id for each in talk.messages if isinstance(each, ToolMessage)] == called
    assert sorted(answered(events)) == sorted(called)
    begun = [event.call_id for event in events if isinstance(event, CallStarted)]
    assert len(begun) == len(set(begun)) and set(begun) <= set(called)
    assert all(each.calls or each.text.strip() for each in talk.messages if isinstance(each, AssistantMessage))
    assert all(unpaired_in(request.messages) == [] for request in provider.requests)
    assert (end.error is None) == (end.stop_reason in ("completed", "cancelled"))


def unpaired_in(messages: tuple[Any, ...]) -> list[str]:
    seen = Conversation()
    seen.messages.extend(messages)
    return unpaired(seen)


@settings(max_examples=50, deadline=None)
@given(replies, st.integers(1, 30))
def test_nothing_begins_after_a_cancel(spoken: list[Any], cancel_at: int) -> None:
    talk = Conversation()
    talk.begin_turn()
    talk.add(UserMessage(talk.mint(), "do it"))
    provider = FakeProvider(*(reply(at, *each) for at, each in enumerate(spoken)), [Done((Text("ended"),), "stop")])
    _, events = asyncio.run(played(talk, provider, cancel_at, None))
    behind = [type(event).__name__ for event in events[cancel_at:]]
    assert "RequestStarted" not in behind
    assert TOO_LATE not in [each.content for each in talk.messages if isinstance(each, ToolMessage)]
