import asyncio

import pytest

from smith_server.core.budget import Budget
from smith_server.core.conversation import Conversation
from smith_server.core.errors import agent_error
from smith_server.core.events import CallFinished, CallStarted, Event, MessageAdded, OutputDelta, RequestStarted
from smith_server.core.messages import AssistantMessage, Call, Text, Thinking, ToolMessage, Usage, UserMessage
from smith_server.core.ports import Done, Failed, TextDelta, ThinkingDelta
from smith_server.core.tool import Effect, ToolResult
from smith_server.core.turn import TurnEnd, run_turn
from tests.core.test_conversation import unpaired
from tests.fakes.provider import FakeProvider
from tests.fakes.turns import FakeInbox, FakeTool, call, calls, turn_input


def begun() -> Conversation:
    talk = Conversation()
    talk.begin_turn()
    talk.add(UserMessage(talk.mint(), "do it"))
    return talk


def done(text: str, usage: Usage | None = None) -> Done:
    return Done((Text(text),), "stop", usage)


async def test_a_turn_asks_runs_the_calls_and_asks_again() -> None:
    events: list[Event] = []
    talk = begun()
    provider = FakeProvider([TextDelta("look"), calls(call())], [TextDelta("done"), done("done")])
    end = await run_turn(turn_input(provider, [FakeTool()]), talk, events.append)
    assert end == TurnEnd("completed", Usage(requests=2))
    assert [type(message).__name__ for message in talk.messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "AssistantMessage",
    ]
    assert [type(event).__name__ for event in events] == [
        "RequestStarted",
        "OutputDelta",
        "RequestFinished",
        "MessageAdded",
        "UsageUpdated",
        "CallStarted",
        "CallFinished",
        "MessageAdded",
        "RequestStarted",
        "OutputDelta",
        "RequestFinished",
        "MessageAdded",
        "UsageUpdated",
    ]
    assert provider.requests[1].messages == tuple(talk.messages[:3])


async def test_usage_is_summed_over_the_requests_of_a_turn() -> None:
    provider = FakeProvider([Done((call(),), "tool_use", Usage(10, 1, 2, 3))], [done("ok", Usage(input=20, output=5))])
    end = await run_turn(turn_input(provider, [FakeTool()]), begun(), lambda event: None)
    assert end.usage == Usage(30, 1, 2, 8, 2)


async def test_a_broken_stream_keeps_its_text_and_drops_its_calls() -> None:
    talk = begun()
    error = agent_error("transport", "stream_truncated", "it broke")
    provider = FakeProvider([TextDelta("half "), Failed(error, (Text("half "), Call("c1", "echo")))])
    end = await run_turn(turn_input(provider), talk, lambda event: None)
    assert end == TurnEnd("error", Usage(requests=1), error)
    assert talk.messages[-1] == AssistantMessage("t000001.0002", (Text("half "),), "fake-model", "error")


async def test_a_stream_that_just_ends_is_no_answer() -> None:
    talk = begun()
    end = await run_turn(turn_input(FakeProvider([TextDelta("half")])), talk, lambda event: None)
    assert end.error is not None
    assert end.error.code == "stream_truncated"
    assert talk.messages[-1].text == "half"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Done((), "stop"), "empty_response"),
        (Done((Thinking("hm"),), "stop"), "empty_response"),
        (Done((Text("no"),), "content_filter"), "content_filter"),
    ],
    ids=["nothing", "thinking alone", "content filter"],
)
async def test_what_is_no_finished_answer_is_an_error(reply: Done, code: str) -> None:
    talk = begun()
    end = await run_turn(turn_input(FakeProvider([reply])), talk, lambda event: None)
    assert end.error is not None
    assert (end.stop_reason, end.error.code) == ("error", code)
    assert all(not isinstance(message, AssistantMessage) or message.text for message in talk.messages)


async def test_a_cancel_while_streaming_keeps_the_text_so_far() -> None:
    talk = begun()
    turn = turn_input(FakeProvider([ThinkingDelta("hm"), TextDelta("so far"), asyncio.Event()]))

    def cancel_at_text(event: Event) -> None:
        if isinstance(event, OutputDelta):
            asyncio.get_running_loop().call_soon(turn.token.request)

    end = await run_turn(turn, talk, cancel_at_text)
    assert end == TurnEnd("cancelled", Usage(requests=1))
    assert talk.messages[-1] == AssistantMessage("t000001.0002", (Text("so far"),), "fake-model", "cancelled")


async def test_a_cancel_between_two_calls_runs_no_further_one_and_closes_them() -> None:
    talk, events = begun(), []
    turn = turn_input()

    async def cancel(args: object, context: object) -> ToolResult:
        turn.token.request()
        return ToolResult("was done")

    tool = FakeTool(effect=Effect.EDIT, action=cancel)
    provider = FakeProvider([calls(call(id="a"), call(id="b"), call(id="c"))])
    turn = turn_input(provider, [tool], token=turn.token)
    end = await run_turn(turn, talk, events.append)
    assert end.stop_reason == "cancelled"
    assert tool.ran == ["hi"]
    results = [message for message in talk.messages if isinstance(message, ToolMessage)]
    assert [(result.call_id, result.code) for result in results] == [("a", ""), ("b", "cancelled"), ("c", "cancelled")]
    assert [event.call_id for event in events if isinstance(event, CallStarted)] == ["a"]
    assert [event.call_id for event in events if isinstance(event, CallFinished)] == ["a", "b", "c"]
    assert unpaired(talk) == []


async def test_a_cancel_before_the_first_request_sends_none() -> None:
    provider = FakeProvider()
    turn = turn_input(provider)
    turn.token.request()
    end = await run_turn(turn, begun(), lambda event: None)
    assert (end.stop_reason, provider.requests) == ("cancelled", [])


async def test_words_from_the_person_are_taken_between_two_requests() -> None:
    talk = begun()
    inbox = FakeInbox()

    async def speak(args: object, context: object) -> ToolResult:
        inbox.texts.append("use the other file")
        return ToolResult("done")

    provider = FakeProvider([calls(call())], [done("ok")])
    await run_turn(turn_input(provider, [FakeTool(action=speak)], inbox=inbox), talk, lambda event: None)
    assert provider.requests[1].messages[-1] == UserMessage("t000001.0004", "use the other file")


async def test_one_prompt_cannot_cause_requests_without_end() -> None:
    talk = begun()
    provider = FakeProvider(*([calls(call(id=f"c{number}"))] for number in range(3)))
    end = await run_turn(turn_input(provider, [FakeTool()], budget=Budget(max_requests=3)), talk, lambda event: None)
    assert end.error is not None
    assert (end.error.code, len(provider.requests)) == ("max_requests", 3)
    assert unpaired(talk) == []


async def test_every_event_of_a_message_comes_before_the_message() -> None:
    events: list[Event] = []
    provider = FakeProvider([TextDelta("a"), TextDelta("b"), done("ab")])
    await run_turn(turn_input(provider), begun(), events.append)
    names = [type(event) for event in events]
    assert names.index(RequestStarted) < names.index(OutputDelta) < names.index(MessageAdded)
    assert [event.message for event in events if isinstance(event, OutputDelta)] == ["t000001.0002"] * 2
