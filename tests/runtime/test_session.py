import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentFailure, Cancelled, failure
from smith_server.core.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Envelope,
    PromptDropped,
    PromptQueued,
    TurnCancelled,
    TurnEnded,
    TurnStarted,
)
from smith_server.core.messages import AssistantMessage, Text, ToolMessage, UserMessage
from smith_server.core.ports import Done, TextDelta
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Effect
from smith_server.runtime.bus import Bus
from smith_server.runtime.line import Prompt
from smith_server.runtime.session import Session
from tests.core.test_conversation import unpaired
from tests.fakes.provider import FakeProvider
from tests.fakes.turns import FakePolicy, FakeTool, call, calls, turn_input


class NoStore:
    async def keep(self, batch: list[Envelope]) -> None:
        await asyncio.sleep(0)


class Stage:
    def __init__(self) -> None:
        self.bus = Bus(NoStore())
        self.seen: list[Envelope] = []
        self.bus.subscribe(self.seen.append)
        self.provider = FakeProvider()
        self.changes: dict[str, Any] = {}
        self.session = Session("c1", Path("/nowhere"), Conversation(), self.bus, self.prepare)
        self.session.start()

    async def prepare(self, session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        return turn_input(
            self.provider, token=token, inbox=session.line.inbox, approver=session.approvals, **self.changes
        )

    def events(self, kind: type[Any]) -> list[Any]:
        return [envelope.event for envelope in self.seen if isinstance(envelope.event, kind)]

    async def until(self, kind: type[Any]) -> Any:
        while not self.events(kind):
            await asyncio.sleep(0)
        return self.events(kind)[-1]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    made.bus.start()
    yield made
    await made.session.close()
    await made.bus.stop()


def answer(text: str) -> list[object]:
    return [TextDelta(text), Done((Text(text),), "stop")]


async def test_a_prompt_runs_and_its_outcome_comes_after_its_last_event(stage: Stage) -> None:
    stage.provider.replies = [answer("hello")]
    ticket = await stage.session.submit(Prompt("hi"))
    outcome = await ticket.done
    assert (outcome.turn, outcome.stop_reason, outcome.text) == ("t000001", "completed", "hello")
    assert isinstance(stage.seen[-1].event, TurnEnded)
    assert [envelope.turn for envelope in stage.seen] == ["t000001"] * len(stage.seen)
    assert not stage.session.busy


async def test_prompts_for_a_busy_conversation_wait_in_line(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.provider.replies = [[gate, *answer("one")], answer("two")]
    first = await stage.session.submit(Prompt("1"))
    await stage.until(TurnStarted)
    second = await stage.session.submit(Prompt("2"))
    assert [event.text for event in stage.events(PromptQueued)] == ["2"]
    gate.set()
    assert [(await first.done).text, (await second.done).text] == ["one", "two"]
    assert [event.queued == second.id for event in stage.events(TurnStarted)] == [False, True]


async def test_a_busy_conversation_refuses_a_prompt_that_may_not_wait(stage: Stage) -> None:
    stage.provider.replies = [[asyncio.Event()]]
    await stage.session.submit(Prompt("1"))
    with pytest.raises(AgentFailure) as caught:
        await stage.session.submit(Prompt("2"), queue=False)
    assert caught.value.error.code == "turn_active"


async def test_a_cancel_comes_back_when_the_turn_has_ended_and_drops_what_waits(stage: Stage) -> None:
    stage.provider.replies = [[TextDelta("half"), asyncio.Event()], answer("never")]
    first = await stage.session.submit(Prompt("1"))
    await stage.until(TurnStarted)
    second = await stage.session.submit(Prompt("2"))
    stopped = await stage.session.cancel()
    assert (stopped.cancelled, stopped.dropped) == (True, ("2",))
    assert (await first.done).stop_reason == "cancelled"
    assert (await second.done).stop_reason == "cancelled"
    assert len(stage.events(PromptDropped)) == len(stage.events(TurnCancelled)) == 1
    assert not stage.session.busy
    stage.provider.replies = [answer("again")]
    assert (await (await stage.session.submit(Prompt("3"))).done).text == "again"


async def test_taking_back_one_waiting_prompt_leaves_the_turn_alone(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.provider.replies = [[gate, *answer("one")]]
    first = await stage.session.submit(Prompt("1"))
    await stage.until(TurnStarted)
    second = await stage.session.submit(Prompt("2"))
    await stage.session.cancel_ticket(second)
    gate.set()
    assert (await first.done).text == "one"
    assert (await second.done).stop_reason == "cancelled"


async def test_a_cancel_with_nothing_running_is_quiet(stage: Stage) -> None:
    assert not (await stage.session.cancel()).cancelled
    assert stage.seen == []


async def test_what_cannot_be_prepared_fails_the_turn_and_keeps_the_prompt(stage: Stage) -> None:
    async def fails(session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        raise failure("policy", "no_provider", "set a key")

    session = Session("c1", Path("/nowhere"), Conversation(), stage.bus, fails)
    session.start()
    outcome = await (await session.submit(Prompt("hi"))).done
    assert outcome.error is not None
    assert (outcome.stop_reason, outcome.error.code) == ("error", "no_provider")
    assert session.talk.messages == [UserMessage("t000001.0001", "hi")]


async def test_a_bug_ends_the_turn_and_not_the_session(stage: Stage) -> None:
    stage.provider.replies = []
    outcome = await (await stage.session.submit(Prompt("hi"))).done
    assert outcome.error is not None
    assert outcome.error.kind == "internal"
    stage.provider.replies = [answer("well")]
    assert (await (await stage.session.submit(Prompt("again"))).done).text == "well"


def approving(stage: Stage) -> FakeTool:
    tool = FakeTool(effect=Effect.EDIT)
    stage.changes = {"tools": [tool], "policy": FakePolicy("ask")}
    stage.provider.replies = [[calls(call())], answer("done")]
    return tool


async def test_the_first_answer_counts(stage: Stage) -> None:
    tool = approving(stage)
    ticket = await stage.session.submit(Prompt("hi"))
    asked = await stage.until(ApprovalAsked)
    assert stage.session.approvals.answer(asked.id, "yes") == "answered"
    with pytest.raises(AgentFailure) as caught:
        stage.session.approvals.answer(asked.id, "no")
    assert caught.value.error.code == "already_answered"
    assert (await ticket.done).stop_reason == "completed"
    assert tool.ran == ["hi"]


async def test_a_cancel_withdraws_the_question_and_a_late_yes_is_quiet(stage: Stage) -> None:
    tool = approving(stage)
    await stage.session.submit(Prompt("hi"))
    asked = await stage.until(ApprovalAsked)
    stopped = await stage.session.cancel()
    assert stopped.cancelled
    assert stage.session.approvals.answer(asked.id, "yes") == "withdrawn"
    assert [event.decision for event in stage.events(ApprovalAnswered)] == ["withdrawn"]
    assert tool.ran == []
    assert unpaired(stage.session.talk) == []


async def test_a_yes_in_the_moment_of_a_cancel_starts_nothing(stage: Stage) -> None:
    tool = approving(stage)
    await stage.session.submit(Prompt("hi"))
    asked = await stage.until(ApprovalAsked)
    stage.session.approvals.answer(asked.id, "yes")
    await stage.session.cancel()
    assert tool.ran == []
    assert [message.code for message in stage.session.talk.messages if isinstance(message, ToolMessage)] == [
        "cancelled"
    ]


async def test_always_is_not_asked_again_in_this_session(stage: Stage) -> None:
    tool = approving(stage)
    stage.provider.replies = [[calls(call(id="a"), call(id="b"))], answer("done")]
    ticket = await stage.session.submit(Prompt("hi"))
    asked = await stage.until(ApprovalAsked)
    stage.session.approvals.answer(asked.id, "always")
    await ticket.done
    assert len(stage.events(ApprovalAsked)) == 1
    assert tool.ran == ["hi", "hi"]


async def test_an_unknown_question_is_named_so(stage: Stage) -> None:
    with pytest.raises(AgentFailure) as caught:
        stage.session.approvals.answer("nothing", "yes")
    assert caught.value.error.code == "unknown_id"


async def test_held_prompts_run_before_the_next_one(stage: Stage) -> None:
    stage.provider.replies = [answer("old"), answer("new")]
    stage.session.line.hold([("q1", Prompt("from before"))])
    ticket = await stage.session.submit(Prompt("now"))
    assert (await ticket.done).text == "new"
    texts = [message.text for message in stage.session.talk.messages if isinstance(message, UserMessage)]
    assert texts == ["from before", "now"]
    assert [message.text for message in stage.session.talk.messages if isinstance(message, AssistantMessage)] == [
        "old",
        "new",
    ]


async def test_words_that_come_too_late_for_their_turn_are_the_next_prompt(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.provider.replies = [[gate, *answer("one")], answer("two")]
    await stage.session.submit(Prompt("1"))
    await stage.until(TurnStarted)
    await stage.session.steer("and this")
    gate.set()
    while stage.session.busy:
        await asyncio.sleep(0)
    texts = [message.text for message in stage.session.talk.messages]
    assert texts == ["1", "one", "and this", "two"]


async def test_words_for_a_turn_that_is_cancelled_come_back(stage: Stage) -> None:
    stage.provider.replies = [[asyncio.Event()]]
    await stage.session.submit(Prompt("1"))
    await stage.until(TurnStarted)
    await stage.session.steer("and this")
    await stage.session.cancel()
    assert [event.text for event in stage.events(PromptDropped)] == ["and this"]


async def test_a_note_waits_for_the_next_request_and_is_not_shown(stage: Stage) -> None:
    stage.session.line.inbox.note("[late]")
    stage.provider.replies = [answer("well")]
    await (await stage.session.submit(Prompt("1"))).done
    asked = [message for message in stage.provider.requests[0].messages if isinstance(message, UserMessage)]
    assert [(message.text, message.aside) for message in asked] == [("1", False), ("[late]", True)]


async def test_work_that_no_turn_may_come_between_lets_prompts_wait(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.provider.replies = [answer("after")]

    async def work(token: CancelToken) -> str:
        await gate.wait()
        return "done"

    job = asyncio.create_task(stage.session.alone(work))
    while not stage.session.busy:
        await asyncio.sleep(0)
    ticket = await stage.session.submit(Prompt("hi"))
    with pytest.raises(AgentFailure) as caught:
        await stage.session.alone(work)
    assert caught.value.error.code == "turn_active"
    assert stage.provider.requests == []
    gate.set()
    assert (await job, (await ticket.done).text) == ("done", "after")
    await stage.session.alone(work)
    assert not stage.session.busy


async def test_a_cancel_asks_such_work_to_stop(stage: Stage) -> None:
    async def work(token: CancelToken) -> None:
        while True:
            token.check()
            await asyncio.sleep(0)

    job = asyncio.create_task(stage.session.alone(work))
    while not stage.session.busy:
        await asyncio.sleep(0)
    assert (await stage.session.cancel()).cancelled
    with pytest.raises(Cancelled):
        await job
    stage.provider.replies = [answer("well")]
    assert (await (await stage.session.submit(Prompt("again"))).done).text == "well"
