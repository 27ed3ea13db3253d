"""Answers that reach the output limit, or are paused, go on; calls that the limit may have cut never run."""

from typing import Any

import pytest

from smith_server.core.budget import Budget
from smith_server.core.conversation import Conversation
from smith_server.core.events import CallStarted, Event, MessageAdded, ResponseContinued
from smith_server.core.messages import Text, Thinking, UserMessage
from smith_server.core.ports import Done
from smith_server.core.rounds import Unit
from smith_server.core.turn import MOST_CONTINUED, TurnEnd, run_turn
from smith_server.llm.retry import Retries, RetryRules
from tests.core.test_turn import begun, done
from tests.fakes.provider import FakeProvider
from tests.fakes.turns import FakeTool, call, calls, turn_input


def limited(*parts: Any, dropped: int = 0) -> list[object]:
    return [Done(parts, "max_tokens", None, dropped)]


async def played(talk: Conversation, *replies: list[object], **more: Any) -> tuple[TurnEnd, FakeProvider, list[Event]]:
    events: list[Event] = []
    provider = FakeProvider(*replies)
    end = await run_turn(turn_input(provider, [FakeTool()], **more), talk, events.append)
    return end, provider, events


def asked_for(talk: Conversation) -> str:
    return next(message.text for message in talk.messages if isinstance(message, UserMessage) and message.aside)


async def test_an_answer_that_reached_the_limit_goes_on() -> None:
    talk = begun()
    end, provider, events = await played(talk, limited(Text("one, ")), [done("two")])
    assert end.stop_reason == "completed"
    assert [message.text for message in talk.messages] == ["do it", "one, ", asked_for(talk), "two"]  # type: ignore[union-attr]
    asked = provider.requests[1].messages[-1]
    assert isinstance(asked, UserMessage)
    assert "Go on" in asked.whole
    assert MessageAdded(message=asked) in events
    assert [event for event in events if isinstance(event, ResponseContinued)] == [ResponseContinued(attempt=1)]


CUTS = {
    "a call that came whole": limited(Text("ok "), call()),
    "a call that was cut": limited(Text("ok "), dropped=1),
    "both": limited(Text("ok "), call(), dropped=1),
}


@pytest.mark.parametrize("reply", CUTS.values(), ids=CUTS)
async def test_no_call_of_such_an_answer_runs_and_the_model_is_told(reply: list[object]) -> None:
    talk = begun()
    _, provider, events = await played(talk, reply, [calls(call(id="c2"))], [done("done")])
    assert [event.call_id for event in events if isinstance(event, CallStarted)] == ["c2"]
    assert talk.messages[1].text == "ok "  # type: ignore[union-attr]
    asked = provider.requests[1].messages[-1]
    assert isinstance(asked, UserMessage)
    assert "None of its calls was run" in asked.whole
    assert ResponseContinued(attempt=1, dropped=True) in events


async def test_what_asks_for_more_takes_the_place_of_no_prompt() -> None:
    asked = Unit(UserMessage("t1.3", "[Go on.]", aside=True))
    assert (asked.is_prompt, Unit(UserMessage("t1.1", "do it")).is_prompt) == (False, True)


async def test_reasoning_alone_leaves_no_message_and_goes_on() -> None:
    talk = begun()
    end, _, _ = await played(talk, limited(Thinking("hm")), [done("short")])
    assert end.stop_reason == "completed"
    assert [type(message).__name__ for message in talk.messages] == ["UserMessage", "UserMessage", "AssistantMessage"]


async def test_the_limit_is_reached_once_more_than_answers_go_on_and_the_turn_fails() -> None:
    talk = begun()
    end, provider, events = await played(talk, *[limited(Text("more "))] * (MOST_CONTINUED + 1))
    assert end.error is not None
    assert (end.stop_reason, end.error.code) == ("error", "output_limit")
    assert len(provider.requests) == MOST_CONTINUED + 1
    assert [event.attempt for event in events if isinstance(event, ResponseContinued)] == [1, 2, 3]


def paused(*parts: Any) -> list[object]:
    return [Done(parts, "stop", paused=True)]


@pytest.mark.parametrize("parts", [(Text("one, "),), (), (Thinking("hm"),)], ids=["text", "nothing", "reasoning"])
async def test_an_answer_that_was_paused_goes_on(parts: tuple[Any, ...]) -> None:
    talk = begun()
    end, provider, events = await played(talk, paused(*parts), [done("two")], retries=Retries(RetryRules()))
    assert end.stop_reason == "completed"
    said = [part.text for part in parts if isinstance(part, Text)]
    assert [message.text for message in talk.messages] == ["do it", *said, asked_for(talk), "two"]  # type: ignore[union-attr]
    assert "paused" in asked_for(talk)
    assert provider.requests[1].messages == tuple(talk.messages[:-1])
    assert [event for event in events if isinstance(event, ResponseContinued)] == [
        ResponseContinued(attempt=1, paused=True)
    ]


async def test_the_calls_of_a_paused_answer_run_and_it_goes_on_with_their_results() -> None:
    talk = begun()
    reply: list[object] = [Done((Text("ok "), call(id="c2")), "tool_use", paused=True)]
    end, provider, events = await played(talk, reply, [done("done")])
    assert (end.stop_reason, len(provider.requests)) == ("completed", 2)
    assert [event.call_id for event in events if isinstance(event, CallStarted)] == ["c2"]
    assert not [event for event in events if isinstance(event, ResponseContinued)]


async def test_an_answer_that_is_paused_again_and_again_is_none() -> None:
    talk = begun()
    end, provider, _ = await played(talk, *[paused(Text("more "))] * (MOST_CONTINUED + 1))
    assert end.error is not None
    assert (end.stop_reason, end.error.code) == ("error", "paused")
    assert len(provider.requests) == MOST_CONTINUED + 1
    assert talk.messages[-1].text == "more "  # type: ignore[union-attr]


async def test_each_prompt_counts_anew() -> None:
    talk = begun()
    replies = [*[limited(Text("more "))] * MOST_CONTINUED, [done("end")]]
    for _ in range(2):
        end, _, events = await played(talk, *replies)
        assert end.stop_reason == "completed"
        assert len([event for event in events if isinstance(event, ResponseContinued)]) == MOST_CONTINUED
        talk.begin_turn()
        talk.add(UserMessage(talk.mint(), "again"))


async def test_going_on_counts_as_a_request() -> None:
    end, provider, _ = await played(begun(), limited(Text("a")), limited(Text("b")), budget=Budget(max_requests=2))
    assert end.stop_reason == "budget_exhausted"
    assert len(provider.requests) == 2
