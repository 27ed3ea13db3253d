from typing import Any

import pytest

from smith_server.core.events import DispatchFinished, Envelope, TurnCompleted, TurnFailed, TurnStarted
from smith_server.core.messages import AssistantMessage, Call, Message, Text, ToolMessage, Usage, UserMessage
from smith_server.runtime.replay import Replay
from smith_server.store.jobs import Job
from smith_server.store.pages import Said, TurnFacts
from smith_server.store.turns import TurnRow, TurnState

TURN = "t000001"


def row(state: TurnState, **record: Any) -> TurnRow:
    return TurnRow(TURN, state, "go", "m", "p", 1.0, 2.0, record)


def job(name: str, call: str, parent: str = "", state: TurnState = "completed") -> Job:
    return Job(name, TURN, parent, call, "worker", 2 if parent else 1, state, f"do {name}", "m", 1.0, 2.0)


def user(seq: int = 1, turn: str = TURN) -> UserMessage:
    return UserMessage(f"{turn}.{seq:04d}", "go")


def asking(seq: int, *calls: str) -> AssistantMessage:
    return AssistantMessage(f"{TURN}.{seq:04d}", tuple(Call(each, "dispatch", '{"task": "it"}') for each in calls))


def answer(seq: int, call: str, content: str = '{"status": "partial", "summary": "half"}') -> ToolMessage:
    return ToolMessage(f"{TURN}.{seq:04d}", call, "dispatch", content)


def told(facts: TurnFacts, *said: tuple[str, Message]) -> list[Envelope]:
    replay = Replay("c", {TURN: facts})
    events = [event for job, message in said for event in replay.said(Said(message, job))]
    return [*events, *replay.rest()]


def kinds(events: list[Envelope]) -> list[tuple[str, str]]:
    return [(each.job, type(each.event).__name__) for each in events]


@pytest.mark.parametrize(
    ("state", "record", "event"),
    [
        ("completed", {}, TurnCompleted(usage=Usage(requests=3))),
        ("completed", {"stop_reason": "budget_exhausted"}, TurnCompleted("budget_exhausted", Usage(requests=3))),
    ],
    ids=["completed", "budget"],
)
def test_a_turn_ends_as_it_did(state: TurnState, record: dict[str, Any], event: Any) -> None:
    facts = TurnFacts(row(state, **record), (), {"parent": Usage(requests=3)})
    assert told(facts, ("", user()))[-1] == Envelope("c", TURN, event)


def test_why_a_turn_failed_is_told() -> None:
    facts = TurnFacts(row("error", kind="protocol", code="output_limit", message="Too long."))
    end = told(facts, ("", user()))[-1].event
    assert isinstance(end, TurnFailed)
    assert (end.error.kind, end.error.code, end.error.message) == ("protocol", "output_limit", "Too long.")


def test_a_turn_that_goes_on_has_no_end_and_one_that_something_followed_has() -> None:
    facts = TurnFacts(row("open"))
    assert kinds(told(facts, ("", user()))) == [("", "TurnStarted"), ("", "MessageAdded")]
    followed = told(facts, ("", user()), ("", user(turn="t000002")))
    assert [type(each.event).__name__ for each in followed[:4]] == [
        "TurnStarted",
        "MessageAdded",
        "TurnFailed",
        "TurnStarted",
    ]


def test_children_begin_with_their_first_message_and_end_with_the_result_of_their_call() -> None:
    facts = TurnFacts(row("completed"), (job("k1", "a"), job("k2", "b"), job("n1", "x", "k1")))
    events = told(
        facts,
        ("", user()),
        ("", asking(2, "a", "b")),
        ("k1", user()),
        ("k2", user()),
        ("n1", user()),
        ("", answer(3, "a")),
        ("", answer(4, "b", "not a report")),
    )
    ended = [(each.job, each.event) for each in events if isinstance(each.event, DispatchFinished)]
    assert ended == [
        ("k1", DispatchFinished("n1", "worker", "ok", "")),
        ("", DispatchFinished("k1", "worker", "partial", "half")),
        ("", DispatchFinished("k2", "worker", "ok", "")),
    ]
    nested = next(each for each in events if each.job == "n1")
    assert (nested.event, nested.call, nested.role, nested.parent) == (TurnStarted(text="do n1"), "x", "worker", "k1")
    assert kinds(events)[-2:] == [("", "MessageAdded"), ("", "TurnCompleted")]


def test_a_child_of_which_nothing_is_known_is_told_as_far_as_it_goes() -> None:
    events = told(
        TurnFacts(row("completed")),
        ("", user()),
        ("lost", user()),
        ("", AssistantMessage(f"{TURN}.0002", (Text("x"),))),
    )
    assert kinds(events) == [
        ("", "TurnStarted"),
        ("", "MessageAdded"),
        ("lost", "MessageAdded"),
        ("", "OutputDelta"),
        ("", "MessageAdded"),
        ("", "TurnCompleted"),
    ]
