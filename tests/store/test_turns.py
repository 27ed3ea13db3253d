import itertools
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import ToolMessage, Usage, UserMessage
from smith_server.store import codec, conversations, follow, lease, notes, turns
from smith_server.store.holder import Holder, this_process
from smith_server.store.opening import Place, open_store
from smith_server.store.turns import TurnRow, WaitingPrompt
from smith_server.store.writes import (
    AddMessage,
    AddPiece,
    CloseTurn,
    DropPieces,
    DropPrompt,
    OpenTurn,
    QueuePrompt,
    SetUsage,
    Write,
)
from tests.store.builders import TALK, batches_of_turn, everything, rows, started, stored, user

ME = this_process()


def pieces(connection: apsw.Connection) -> list[Any]:
    return rows(connection, "piece", "turn, seq, n, kind, text")


def test_a_turn_is_stored_from_its_opening_to_its_end(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000001", "do \ud800 it", ME, "m", "p")], now=5.0)
    assert turns.get(connection, TALK, "t000001") == TurnRow("t000001", "open", "do \ud800 it", "m", "p", 5.0, None, {})
    turns.apply(connection, [CloseTurn(TALK, "t000001", "error", record={"code": "auth"})], full_sync=True, now=9.0)
    assert turns.get(connection, TALK, "t000001") == TurnRow(
        "t000001", "error", "do \ud800 it", "m", "p", 5.0, 9.0, {"code": "auth"}
    )
    assert turns.get(connection, TALK, "t000002") is None


def test_streamed_text_is_kept_until_its_message_is_whole(connection: apsw.Connection) -> None:
    started(connection)
    begun = batches_of_turn(1)
    stored(connection, begun[:4])
    assert pieces(connection) == [
        (1, 2, 1, "thinking", "let me think"),
        (1, 2, 2, "text", "I look at 1"),
        (1, 2, 3, "text", " now."),
    ]
    stored(connection, begun[4:8])
    assert pieces(connection) == [(1, 5, 1, "text", "All of 1 ")]
    stored(connection, begun[8:])
    assert pieces(connection) == []


def test_text_that_is_void_is_forgotten_and_later_text_of_the_same_message_kept(connection: apsw.Connection) -> None:
    started(connection)
    writes: list[Write] = [
        AddPiece(TALK, "t000001.0002", "wrong"),
        AddPiece(TALK, "t000001.0003", "other"),
        DropPieces(TALK, "t000001.0002"),
        AddPiece(TALK, "t000001.0002", "right"),
    ]
    turns.apply(connection, writes)
    assert pieces(connection) == [(1, 2, 1, "text", "right"), (1, 3, 1, "text", "other")]


def test_the_end_of_a_turn_drops_text_that_became_no_message_of_it_alone(connection: apsw.Connection) -> None:
    started(connection)
    writes: list[Write] = [
        OpenTurn(TALK, "t000001", "go", ME),
        AddPiece(TALK, "t000001.0002", "hm", "thinking"),
        AddPiece(TALK, "t000002.0002", "another turn"),
        AddPiece(TALK, "t000001.0002", "a child", job="job1"),
        CloseTurn(TALK, "t000001", "error"),
    ]
    turns.apply(connection, writes)
    assert rows(connection, "piece", "job, turn, text") == [("", 2, "another turn"), ("job1", 1, "a child")]


@pytest.mark.parametrize("text", ["", "\x00a\x00", "\ud800", "\udc00\ud83d", "𝄞", "a\r\nb\x0c\u2028"])
def test_any_text_is_stored_as_it_was(connection: apsw.Connection, text: str) -> None:
    started(connection)
    message = UserMessage("t000001.0001", text)
    writes: list[Write] = [
        AddMessage(TALK, message),
        QueuePrompt(TALK, "q", text, {text: text}),
        OpenTurn(TALK, "t000001", text, ME),
    ]
    turns.apply(connection, writes)
    assert conversations.load(connection, TALK).messages == (message,)
    assert turns.waiting(connection, TALK) == (WaitingPrompt("q", text, {text: text}),)
    turn = turns.get(connection, TALK, "t000001")
    assert turn is not None and turn.prompt == text


def test_a_batch_that_fails_leaves_nothing(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, batches_of_turn(1))
    before = everything(connection)
    bad = AddMessage(TALK, ToolMessage("t000002.0002", "c", "bash", 7))  # type: ignore[arg-type]
    with pytest.raises(AgentFailure):
        turns.apply(connection, [*batches_of_turn(2)[0], bad])
    with pytest.raises(apsw.ConstraintError):
        turns.apply(connection, [*batches_of_turn(2)[0], AddMessage("no such talk", user(1))])
    assert everything(connection) == before
    stored(connection, batches_of_turn(2))
    assert conversations.count(connection, TALK) == 10


def test_a_batch_that_is_stored_twice_is_there_once(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, batches_of_turn(1))
    before = everything(connection)
    last = batches_of_turn(1)[-1]
    stored(connection, [last, last])
    assert everything(connection) == before


def test_a_turn_of_another_process_is_not_taken_over_by_opening_it(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000001", "mine", ME)])
    with pytest.raises(AgentFailure) as raised:
        turns.apply(connection, [OpenTurn(TALK, "t000001", "theirs", Holder("host", 1, "x"))])
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "turn_taken")
    turn = turns.get(connection, TALK, "t000001")
    assert turn is not None and turn.prompt == "mine"


def test_opening_a_turn_makes_its_conversation_the_last_used(connection: apsw.Connection) -> None:
    for name in ("a", "b"):
        started(connection, name)
    turns.apply(connection, [OpenTurn("a", "t000001", "go", ME)], now=0.5)
    assert [header.id for header in conversations.listed(connection, "/project")] == ["a", "b"]


def test_prompts_wait_in_the_order_in_which_they_came(connection: apsw.Connection) -> None:
    started(connection)
    for number in range(12):
        turns.apply(connection, [QueuePrompt(TALK, f"q{number}", f"prompt {number}")])
    turns.apply(connection, [DropPrompt(TALK, "q0"), DropPrompt(TALK, "q5"), QueuePrompt(TALK, "q0", "again")])
    wanted = [*(f"q{number}" for number in range(1, 12) if number != 5), "q0"]
    assert [prompt.id for prompt in turns.waiting(connection, TALK)] == wanted


def test_turn_numbers_are_never_given_twice(connection: apsw.Connection) -> None:
    started(connection)
    assert turns.next_turn(connection, TALK) == 1
    turns.apply(connection, [OpenTurn(TALK, "t000004", "go", ME)])
    assert turns.next_turn(connection, TALK) == 5
    turns.apply(connection, [AddMessage(TALK, user(7)), AddMessage(TALK, user(30), job="job1")])
    assert turns.next_turn(connection, TALK) == 8


@pytest.mark.parametrize(
    "write",
    [
        OpenTurn(TALK, "first", "go", ME),
        OpenTurn(TALK, "t000001", "go", ME, job="a:b"),
        AddPiece(TALK, "t000001", "x"),
        AddMessage(TALK, UserMessage("", "x")),
        SetUsage(TALK, "t000001", Usage(), tail="a:b"),
    ],
    ids=["turn", "job", "piece", "message", "usage"],
)
def test_what_cannot_be_a_key_is_refused(connection: apsw.Connection, write: Write) -> None:
    started(connection)
    with pytest.raises(AgentFailure) as raised:
        turns.apply(connection, [write])
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")


def test_the_level_of_safety_is_as_before_after_a_commit_that_asked_for_more(connection: apsw.Connection) -> None:
    started(connection)
    level = connection.pragma("synchronous")
    turns.apply(connection, batches_of_turn(1)[0], full_sync=True)
    assert connection.pragma("synchronous") == level == 1
    with pytest.raises(AgentFailure):
        turns.apply(connection, [AddPiece(TALK, "bad", "x")], full_sync=True)
    assert connection.pragma("synchronous") == level


def steps_to_store(connection: apsw.Connection, write: Write) -> int:
    """How many instructions of the database one commit of it takes."""
    taken = itertools.count()
    connection.set_progress_handler(lambda: next(taken) < 0, 1)
    turns.apply(connection, [write])
    connection.set_progress_handler(None)
    return next(taken)


def mean_steps(connection: apsw.Connection, make: Callable[[int], Write], first: int) -> float:
    """For 256 commits: some of them pay for merging what the index has of those before."""
    return mean(steps_to_store(connection, make(number)) for number in range(first, first + 256))


@pytest.mark.parametrize(
    "make",
    [
        lambda number: AddPiece(TALK, "t000050.0002", f"text {number}"),
        lambda number: AddMessage(TALK, user(51, number, f"please look at {number} again")),
        lambda number: OpenTurn(TALK, f"t{number + 100:06d}", "go", ME),
        lambda number: OpenTurn(TALK, f"t{number + 100:06d}", "go", ME, job=f"job{number}"),
    ],
    ids=["piece", "message", "turn", "child"],
)
def test_a_write_costs_the_same_however_long_the_conversation_is(tmp_path: Path, make: Callable[[int], Write]) -> None:
    connection = open_store(Place(tmp_path / "smith.db")).connection
    started(connection)
    turns.apply(connection, [make(number) for number in range(1, 100)])
    early = mean_steps(connection, make, 100)
    turns.apply(connection, [AddPiece(TALK, "t000050.0002", "text")] * 3000)
    turns.apply(connection, [make(number) for number in range(1000, 10_000)])
    assert 10 < early <= mean_steps(connection, make, 10_000) < early * 1.1 + 10


RECORD = {"stop_reason": "completed", "calls": 2, "odd": "\ud800", "big": 10**40}


def test_the_record_of_a_turn_is_a_note_of_its_conversation(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000012", "go", ME)])
    turns.apply(connection, [CloseTurn(TALK, "t000012", "completed", record=RECORD)])
    text = notes.get(connection, TALK, "turn_record-t000012")
    assert text == codec.encode_json(RECORD) and text.startswith('{"big":1000')
    turn = turns.get(connection, TALK, "t000012")
    assert turn is not None and turn.record == RECORD


def test_the_record_of_a_child_is_kept_with_its_turn(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000001", "go", ME, job="j")])
    turns.apply(connection, [CloseTurn(TALK, "t000001", "completed", "j", RECORD)])
    child = turns.get(connection, TALK, "t000001", "j")
    assert child is not None and child.record == RECORD
    assert rows(connection, "note") == []


def test_a_record_that_cannot_be_stored_leaves_the_turn_open(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000001", "go", ME)])
    before = everything(connection)
    with pytest.raises(AgentFailure) as raised:
        turns.apply(connection, [CloseTurn(TALK, "t000001", "completed", record={"x": object()})])
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_record")
    assert everything(connection) == before


def test_what_is_written_under_a_lease_is_stored_while_it_is_held(connection: apsw.Connection) -> None:
    for name in (TALK, "free"):
        started(connection, name)
    mine = lease.take(connection, TALK, ME, "terminal")
    batch = [AddMessage(TALK, user(1)), AddMessage("free", user(1))]
    turns.apply(connection, batch, tokens={TALK: mine.token, "closed long ago": "x"})
    assert [conversations.count(connection, name) for name in (TALK, "free")] == [1, 1]


@pytest.mark.parametrize("new_holder", [Holder("host", 1, "x"), None], ids=["taken over", "given back"])
def test_nothing_is_written_under_a_lease_that_is_lost(connection: apsw.Connection, new_holder: Holder | None) -> None:
    for name in (TALK, "free"):
        started(connection, name)
    mine = lease.take(connection, TALK, ME, "terminal")
    if new_holder is None:
        lease.release(connection, mine)
    else:
        lease.take_over(connection, TALK, new_holder, "Emacs")
    before = everything(connection)
    with pytest.raises(AgentFailure) as raised:
        batch = [AddMessage("free", user(1)), AddMessage(TALK, user(1))]
        turns.apply(connection, batch, tokens={TALK: mine.token})
    error = raised.value.error
    assert (error.kind, error.code, error.retryable) == ("persistence", "lease_lost", False)
    assert (error.data["conversation"], error.data.get("face")) == (TALK, "Emacs" if new_holder else None)
    assert everything(connection) == before
    turns.apply(connection, [AddMessage("free", user(1))], tokens={TALK: mine.token})


def test_a_conversation_that_was_deleted_elsewhere_is_told_as_a_lost_lease(connection: apsw.Connection) -> None:
    started(connection)
    mine = lease.take(connection, TALK, ME, "terminal")
    conversations.delete(connection, TALK)
    with pytest.raises(AgentFailure) as raised:
        turns.apply(connection, [AddMessage(TALK, user(1))], tokens={TALK: mine.token})
    assert raised.value.error.code == "lease_lost"


def test_a_message_that_is_stored_again_as_it_was_changes_nothing_and_another_one_is_told(
    connection: apsw.Connection,
) -> None:
    started(connection)
    turns.apply(connection, [AddMessage(TALK, user(1))], now=1.0)
    before = follow.cursor(connection, TALK)
    turns.apply(connection, [AddMessage(TALK, user(1))], now=1.0)
    assert follow.changes_since(connection, TALK, before).state == "same"
    turns.apply(connection, [AddMessage(TALK, user(1, text="other"))], now=1.0)
    assert follow.changes_since(connection, TALK, before).state == "rewritten"
