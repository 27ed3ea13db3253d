import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import AssistantMessage, Call, ToolMessage, Usage
from smith_server.store import conversations, jobs, notes, search, turns, usage
from smith_server.store.conversations import Header
from smith_server.store.fork import fork
from smith_server.store.holder import this_process
from smith_server.store.writes import AddMessage, CloseTurn, OpenTurn, QueuePrompt, Write
from tests.store.builders import (
    GONE,
    TALK,
    batches_of_turn,
    everything,
    fresh,
    is_index_as_rebuilt,
    replayed,
    rows,
    started,
    stored,
    user,
)


def talked(connection: apsw.Connection, count: int = 3) -> None:
    started(connection)
    for number in range(1, count + 1):
        stored(connection, batches_of_turn(number))


def ids(connection: apsw.Connection, talk: str) -> list[str]:
    return [message.id for message in replayed(connection, talk).messages]


def test_a_fork_is_the_same_conversation_under_another_id(connection: apsw.Connection) -> None:
    conversations.create(
        connection, Header(TALK, "/project", "Pins", project_id="p1", model="m", role="r", mode="plan"), now=1.0
    )
    for number in (1, 2):
        stored(connection, batches_of_turn(number))
    before = conversations.load(connection, TALK)
    made = fork(connection, TALK, "new", now=9.0)
    assert made == Header("new", "/project", "Pins", 9.0, 9.0, made.used, 10, "p1", "m", "r", "plan")
    assert conversations.get(connection, "new") == made
    assert conversations.load(connection, "new") == before == conversations.load(connection, TALK)
    assert turns.next_turn(connection, "new") == 3
    assert is_index_as_rebuilt(connection)


@pytest.mark.parametrize(
    ("upto", "last"),
    [
        ("t000002.0001", "t000002.0001"),
        ("t000002.0002", "t000002.0004"),
        ("t000002.0003", "t000002.0004"),
        ("t000002.0004", "t000002.0004"),
        ("t000002.0005", "t000002.0005"),
        ("t000003.0005", "t000003.0005"),
    ],
    ids=["prompt", "reply", "first result", "last result", "answer", "all"],
)
def test_a_fork_ends_with_the_round_of_the_message_that_was_named(
    connection: apsw.Connection, upto: str, last: str
) -> None:
    talked(connection)
    made = fork(connection, TALK, "new", upto)
    wanted = [name for name in ids(connection, TALK) if name <= last]
    assert ids(connection, "new") == wanted
    assert made.message_count == len(wanted)
    assert turns.next_turn(connection, "new") == int(last[1:7]) + 1


def test_what_is_done_in_a_fork_is_not_done_in_the_other(connection: apsw.Connection) -> None:
    talked(connection)
    fork(connection, TALK, "new", "t000001.0005")
    stored(connection, batches_of_turn(2, talk="new"))
    conversations.delete(connection, TALK)
    assert len(ids(connection, "new")) == 10
    assert is_index_as_rebuilt(connection)


def test_a_turn_that_runs_elsewhere_ends_in_the_fork_as_interrupted(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, batches_of_turn(1, this_process())[:6])
    before = everything(connection)
    fork(connection, TALK, "new", now=9.0)
    turn = turns.get(connection, "new", "t000001")
    assert turn is not None and (turn.state, turn.ended) == ("interrupted", 9.0)
    assert replayed(connection, "new").open_calls() == ()
    assert [row for row in everything(connection)["turn"] if row[0] == TALK] == before["turn"]
    assert [row[0] for row in rows(connection, "piece")] == []


def child(turn: int, job: str, call: str, parent: str = "") -> list[Write]:
    name = f"t{turn:06d}"
    return [
        OpenTurn(TALK, name, job, GONE, job=job, parent=parent, call=call, role="worker", depth=2 if parent else 1),
        AddMessage(TALK, user(turn, text=job), job),
        CloseTurn(TALK, name, "completed", job, {"said": job}),
    ]


def test_children_come_with_the_calls_that_started_them(connection: apsw.Connection) -> None:
    talked(connection, 2)
    turns.apply(
        connection, [*child(1, "early", "call-1-1"), *child(2, "late", "call-2-1"), *child(2, "later", "x", "late")]
    )
    fork(connection, TALK, "whole")
    fork(connection, TALK, "half", "t000002.0001")
    assert jobs.listed(connection, "whole") == jobs.listed(connection, TALK)
    assert [job.id for job in jobs.listed(connection, "half")] == ["early"]
    assert [row[0] for row in rows(connection, "message", "job, conversation") if row[1] == "half" and row[0]] == [
        "early"
    ]
    assert is_index_as_rebuilt(connection)


def test_a_child_stays_when_a_later_call_has_the_id_of_its_own(connection: apsw.Connection) -> None:
    started(connection)
    for at in (2, 4):
        reply = AssistantMessage(f"t000001.{at:04d}", (Call("call_0", "dispatch"),))
        result = ToolMessage(f"t000001.{at + 1:04d}", "call_0", "dispatch", "done")
        turns.apply(connection, [AddMessage(TALK, reply), *child(1, f"job{at}", "call_0"), AddMessage(TALK, result)])
    fork(connection, TALK, "new", "t000001.0002")
    assert ids(connection, "new") == ["t000001.0002", "t000001.0003"]
    assert [job.id for job in jobs.listed(connection, "new")] == ["job2", "job4"]


def test_the_scratchpad_and_the_records_of_its_turns_come_along_and_nothing_that_was_used_or_waits(
    connection: apsw.Connection,
) -> None:
    talked(connection, 2)
    for turn in ("t000001", "t000002"):
        notes.put(connection, TALK, notes.turn_record_id(turn), "{}")
    notes.put(connection, TALK, "scratchpad:dispatch/J", "text")
    turns.apply(connection, [QueuePrompt(TALK, "q", "later")])
    fork(connection, TALK, "new", "t000001.0005")
    assert [note.id for note in notes.listed(connection, "new")] == ["scratchpad:dispatch/J", "turn_record-t000001"]
    assert usage.total(connection, "new") == Usage()
    assert turns.waiting(connection, "new") == ()


def test_a_row_that_cannot_be_read_is_copied_as_it_is(connection: apsw.Connection) -> None:
    talked(connection, 1)
    connection.execute("UPDATE message SET record = x'c1' WHERE seq = 2")
    search.rebuild_message_search_index(connection)
    fork(connection, TALK, "new")
    assert conversations.load(connection, "new") == conversations.load(connection, TALK)
    assert is_index_as_rebuilt(connection)


@pytest.mark.parametrize(
    ("source", "new", "upto", "code"),
    [
        ("nobody", "new", None, "not_found"),
        (TALK, "new", "t000009.0001", "not_found"),
        (TALK, "new", "nonsense", "invalid_key"),
        (TALK, "a:b", None, "invalid_key"),
    ],
    ids=["conversation", "message", "id of a message", "new id"],
)
def test_what_cannot_be_forked_leaves_nothing(
    connection: apsw.Connection, source: str, new: str, upto: str | None, code: str
) -> None:
    talked(connection, 1)
    before = everything(connection)
    with pytest.raises(AgentFailure) as raised:
        fork(connection, source, new, upto)
    assert raised.value.error.code == code
    assert everything(connection) == before


def test_a_conversation_is_not_forked_onto_one_that_is_there(connection: apsw.Connection) -> None:
    talked(connection, 1)
    before = everything(connection)
    with pytest.raises(apsw.ConstraintError):
        fork(connection, TALK, TALK)
    assert everything(connection) == before


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3 * len(batches_of_turn(1))), st.integers(0, 30))
def test_a_fork_of_anything_at_any_message_can_be_gone_on_with(batches: int, at: int) -> None:
    connection = fresh()
    started(connection)
    stored(connection, [batch for number in (1, 2, 3) for batch in batches_of_turn(number)][:batches])
    stored_ids = [f"t{turn:06d}.{seq:04d}" for turn, seq in rows(connection, "message", "turn, seq")]
    fork(connection, TALK, "new", stored_ids[at % len(stored_ids)] if stored_ids else None)
    stored(connection, batches_of_turn(turns.next_turn(connection, "new"), talk="new"))
    assert replayed(connection, "new").open_calls() == ()
    assert is_index_as_rebuilt(connection)
    connection.close()
