from collections.abc import Sequence

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.llm.scripted import strict_problem
from smith_server.store import conversations, lease, turns
from smith_server.store.holder import Holder, this_process
from smith_server.store.pairing import INTERRUPTED, NO_RESULT
from smith_server.store.repair import repair
from smith_server.store.writes import AddMessage, AddPiece, CloseTurn, OpenTurn, QueuePrompt, Write
from tests.store.builders import (
    GONE,
    TALK,
    batches_of_turn,
    everything,
    fresh,
    is_index_as_rebuilt,
    replayed,
    rows,
    said,
    started,
    stored,
)


def left_after(connection: apsw.Connection, batches: int) -> list[Message]:
    """The messages after a process died having stored so many batches of a turn."""
    started(connection)
    stored(connection, batches_of_turn(1)[:batches])
    assert repair(connection, TALK, now=9.0) == ("t000001",)
    return replayed(connection).messages


def no_result(name: str, call_id: str) -> ToolMessage:
    return ToolMessage(name, call_id, "bash", NO_RESULT, ok=False, code=INTERRUPTED)


WHOLE = [write.message for batch in batches_of_turn(1) for write in batch if isinstance(write, AddMessage)]


@pytest.mark.parametrize(
    ("batches", "wanted"),
    [
        (1, WHOLE[:1]),
        (2, WHOLE[:1]),
        (
            3,
            [
                WHOLE[0],
                AssistantMessage("t000001.0002", (Thinking("let me think"), Text("I look at 1")), "m", "error"),
            ],
        ),
        (
            4,
            [
                WHOLE[0],
                AssistantMessage("t000001.0002", (Thinking("let me think"), Text("I look at 1 now.")), "m", "error"),
            ],
        ),
        (5, [*WHOLE[:2], no_result("t000001.0003", "call-1-1"), no_result("t000001.0004", "call-1-2")]),
        (6, [*WHOLE[:3], no_result("t000001.0004", "call-1-2")]),
        (7, WHOLE[:4]),
        (8, [*WHOLE[:4], AssistantMessage("t000001.0005", (Text("All of 1 "),), "m", "error")]),
        (9, [*WHOLE[:4], AssistantMessage("t000001.0005", (Text("All of 1 is done."),), "m", "error")]),
    ],
    ids=["prompt", "reasoning", "text", "more text", "calls", "one result", "both", "last text", "all text"],
)
def test_a_turn_that_broke_off_keeps_what_was_shown_and_can_be_continued(
    connection: apsw.Connection, batches: int, wanted: list[Message]
) -> None:
    assert left_after(connection, batches) == wanted
    turn = turns.get(connection, TALK, "t000001")
    assert turn is not None and (turn.state, turn.ended) == ("interrupted", 9.0)
    assert rows(connection, "piece") == []
    header = conversations.get(connection, TALK)
    assert header is not None and header.message_count == len(wanted)
    stored(connection, batches_of_turn(turns.next_turn(connection, TALK)))
    assert len(replayed(connection).messages) == len(wanted) + 5


def test_a_prompt_is_not_lost_when_its_message_was_not_stored_yet(connection: apsw.Connection) -> None:
    started(connection)
    opened = OpenTurn(TALK, "t000001", "my prompt", GONE)
    turns.apply(connection, [opened, AddPiece(TALK, "t000001.0002", "An answer")])
    repair(connection, TALK)
    assert replayed(connection).messages == [
        UserMessage("t000001.0001", "my prompt"),
        AssistantMessage("t000001.0002", (Text("An answer"),), "", "error"),
    ]


def test_turns_of_living_processes_are_left_alone(connection: apsw.Connection) -> None:
    started(connection)
    for number, holder in ((1, this_process()), (2, Holder("somewhere-else.invalid", 1, "x"))):
        stored(connection, batches_of_turn(number, holder)[:6])
    before = everything(connection)
    assert repair(connection, TALK) == ()
    assert everything(connection) == before


def test_a_turn_whose_lease_another_process_has_is_closed_though_its_own_lives(connection: apsw.Connection) -> None:
    started(connection)
    elsewhere = Holder("somewhere-else.invalid", 1, "x")
    stored(connection, batches_of_turn(1, elsewhere)[:4])
    lease.take(connection, TALK, elsewhere, "Emacs")
    assert repair(connection, TALK) == ()
    connection.execute("DELETE FROM lease")
    lease.take(connection, TALK, this_process(), "terminal")
    assert repair(connection, TALK) == ("t000001",)
    assert "I look at 1 now." in said(replayed(connection))


def test_other_conversations_are_left_alone(connection: apsw.Connection) -> None:
    for name in (TALK, "other"):
        started(connection, name)
        stored(connection, batches_of_turn(1, talk=name)[:6])
    assert repair(connection, "other") == ("t000001",)
    turn = turns.get(connection, TALK, "t000001")
    assert turn is not None and turn.state == "open"


def test_a_child_is_closed_like_its_parent_and_not_named(connection: apsw.Connection) -> None:
    started(connection)
    writes: list[Write] = [
        OpenTurn(TALK, "t000001", "look around", GONE, job="job1"),
        AddMessage(TALK, UserMessage("t000001.0001", "look around"), "job1"),
        AddMessage(TALK, AssistantMessage("t000001.0002", (Call("c", "bash"),)), "job1"),
        AddPiece(TALK, "t000001.0003", "I", job="job1"),
    ]
    turns.apply(connection, writes)
    assert repair(connection, TALK) == ()
    child = turns.get(connection, TALK, "t000001", "job1")
    assert child is not None and child.state == "interrupted"
    replayed(connection, job="job1")
    assert conversations.load(connection, TALK).messages == ()


def test_a_row_that_cannot_be_read_does_not_stop_the_repair(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, batches_of_turn(1)[:6])
    connection.execute("UPDATE message SET record = x'c1' WHERE seq = 3")
    assert repair(connection, TALK) == ("t000001",)
    assert [message.id for message in replayed(connection).messages if isinstance(message, ToolMessage)] == [
        "t000001.0004",
        "t000001.0005",
    ]


def test_results_that_never_came_to_the_store_are_put_where_they_belong(connection: apsw.Connection) -> None:
    started(connection)
    begun = batches_of_turn(1)
    stored(connection, [*begun[:5], *begun[7:9]])
    repair(connection, TALK)
    wanted = [*WHOLE[:2], no_result("t000001.0003", "call-1-1"), no_result("t000001.0004", "call-1-2")]
    answer = AssistantMessage("t000001.0005", (Text("All of 1 is done."),), "m", "error")
    assert replayed(connection).messages == [*wanted, answer]
    assert conversations.page(connection, TALK, limit=9).messages == (*wanted, answer)


def test_text_behind_results_that_have_no_room_is_kept(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, [*batches_of_turn(1)[:5], [AddPiece(TALK, "t000001.0003", "What I saw")]])
    repair(connection, TALK)
    assert "What I saw" in said(replayed(connection))


def test_waiting_prompts_outlive_a_broken_turn(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, batches_of_turn(1)[:6])
    turns.apply(connection, [QueuePrompt(TALK, "q", "and then")])
    repair(connection, TALK)
    assert [prompt.text for prompt in turns.waiting(connection, TALK)] == ["and then"]


words = st.text(st.characters(), max_size=8)
counts = st.integers(0, 3)
rounds = st.lists(st.tuples(st.lists(st.tuples(st.booleans(), words), max_size=4), counts), min_size=1, max_size=4)


def turn_writes(number: int, spoken: Sequence[tuple[list[tuple[bool, str]], int]], job: str) -> list[Write]:
    """A turn of several rounds, each with streamed pieces and some calls; the last one has none."""
    turn, seq = f"t{number:06d}", 1
    writes: list[Write] = [
        OpenTurn(TALK, turn, f"prompt {number}", GONE, job=job),
        AddMessage(TALK, UserMessage(f"{turn}.0001", f"prompt {number}"), job),
    ]
    for at, (streamed, count) in enumerate(spoken):
        seq += 1
        name = f"{turn}.{seq:04d}"
        writes += [AddPiece(TALK, name, text, "thinking" if hidden else "text", job) for hidden, text in streamed]
        text = "".join(text for hidden, text in streamed if not hidden)
        calls = tuple(Call(f"{name}-{n}", "bash") for n in range(count if at + 1 < len(spoken) else 0))
        if not calls and not text.strip():
            continue
        writes.append(AddMessage(TALK, AssistantMessage(name, (Text(text), *calls)), job))
        for call in calls:
            seq += 1
            writes.append(AddMessage(TALK, ToolMessage(f"{turn}.{seq:04d}", call.id, "bash", "done"), job))
    return [*writes, CloseTurn(TALK, turn, "completed", job)]


def shown(writes: Sequence[Write], job: str) -> dict[str, str]:
    """The text of each message that was shown of these writes."""
    texts: dict[str, str] = {}
    for write in writes:
        if isinstance(write, AddPiece) and write.job == job and write.kind == "text":
            texts[write.message] = texts.get(write.message, "") + write.text
    return {name: text for name, text in texts.items() if text.strip()}


@settings(max_examples=100, deadline=None)
@given(st.lists(rounds, min_size=1, max_size=3), st.sampled_from(["", "job1"]), st.data())
def test_after_any_prefix_of_what_is_stored_the_conversation_is_valid_and_whole(
    spoken: list[list[tuple[list[tuple[bool, str]], int]]], job: str, data: st.DataObject
) -> None:
    writes = [write for number, told in enumerate(spoken, 1) for write in turn_writes(number, told, job)]
    kept = writes[: data.draw(st.integers(0, len(writes)))]
    connection = fresh()
    started(connection)
    turns.apply(connection, kept)
    repair(connection, TALK, now=2.0)
    conversation = replayed(connection, job=job)
    assert conversation.open_calls() == ()
    assert not conversation.messages or strict_problem(tuple(conversation.messages)) == ""
    assert conversations.load(connection, TALK, job).messages == tuple(conversation.messages)
    found = {message.id: message.text for message in conversation.messages if isinstance(message, AssistantMessage)}
    assert {name: found.get(name) for name in shown(kept, job)} == shown(kept, job)
    whole = [write.message for write in kept if isinstance(write, AddMessage)]
    assert [message for message in conversation.messages if message in whole] == whole
    assert rows(connection, "turn", "count(*) FILTER (WHERE state = 'open')") == [(0,)]
    assert rows(connection, "piece") == []
    assert is_index_as_rebuilt(connection)
    after = everything(connection)
    assert repair(connection, TALK, now=3.0) == ()
    assert everything(connection) == after
    connection.close()
