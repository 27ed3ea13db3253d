import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.store import conversations, jobs, messages, notes, turns, usage
from smith_server.store.holder import this_process
from smith_server.store.messages import DELETED, message_hash
from smith_server.store.writes import AddMessage, AddPiece, CloseTurn, OpenTurn, QueuePrompt, Write
from tests.store.builders import GONE, TALK, batches_of_turn, everything, replayed, rows, started, stored

REPLY = AssistantMessage(
    "t000001.0002", (Thinking("hm", "p", {"sig": "x"}), Text("I look"), Call("a", "read"), Call("b", "bash"))
)
A = ToolMessage("t000001.0003", "a", "read", "text of a")
B = ToolMessage("t000001.0004", "b", "bash", "text of b", ok=False, code="failed", recall_key="dispatch/x")
LAST = AssistantMessage("t000001.0005", (Text("Done."),))
TALKED: list[Message] = [UserMessage("t000001.0001", "go", "a file"), REPLY, A, B, LAST]


def talked(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [AddMessage(TALK, message) for message in TALKED], now=1.0)


def kept(connection: apsw.Connection) -> list[Message]:
    return replayed(connection).messages


@pytest.mark.parametrize(
    ("message", "text", "wanted"),
    [
        (TALKED[0], "stop", UserMessage("t000001.0001", "stop", "a file")),
        (TALKED[0], "", UserMessage("t000001.0001", "", "a file")),
        (
            REPLY,
            "I see \ud800",
            AssistantMessage("t000001.0002", (REPLY.parts[0], Text("I see \ud800"), *REPLY.parts[2:])),
        ),
        (REPLY, "", AssistantMessage("t000001.0002", (REPLY.parts[0], *REPLY.parts[2:]))),
        (A, "other", ToolMessage("t000001.0003", "a", "read", "other")),
        (B, "other", ToolMessage("t000001.0004", "b", "bash", "other", ok=False, code="failed")),
        (LAST, "Not done.", AssistantMessage("t000001.0005", (Text("Not done."),))),
    ],
    ids=["prompt", "empty prompt", "reply", "reply without text", "result", "result with a key", "answer"],
)
def test_an_edit_changes_the_text_and_nothing_else(
    connection: apsw.Connection, message: Message, text: str, wanted: Message
) -> None:
    talked(connection)
    assert messages.edit(connection, TALK, message.id, text, message_hash(message)) == wanted
    assert kept(connection) == [wanted if each is message else each for each in TALKED]
    header = conversations.get(connection, TALK)
    assert header is not None and header.message_count == 5


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ((Call("a", "read"),), (Text("new"), Call("a", "read"))),
        ((Thinking("hm"), Call("a", "read")), (Thinking("hm"), Text("new"), Call("a", "read"))),
        ((Text("one"), Thinking("hm"), Text("two")), (Text("new"), Thinking("hm"))),
        ((Thinking("hm"),), (Thinking("hm"), Text("new"))),
        ((), (Text("new"),)),
    ],
    ids=["calls", "reasoning and calls", "several texts", "reasoning", "nothing"],
)
def test_a_reply_has_one_text_after_an_edit_in_front_of_its_calls(
    connection: apsw.Connection, parts: tuple[Text | Thinking | Call, ...], wanted: tuple[Text | Thinking | Call, ...]
) -> None:
    started(connection)
    turns.apply(connection, [AddMessage(TALK, AssistantMessage("t000001.0002", parts, "m", "max_tokens"))])
    edited = messages.edit(connection, TALK, "t000001.0002", "new")
    assert edited == AssistantMessage("t000001.0002", wanted, "m", "max_tokens")


def test_a_reply_without_calls_cannot_be_made_empty(connection: apsw.Connection) -> None:
    talked(connection)
    with pytest.raises(AgentFailure) as raised:
        messages.edit(connection, TALK, LAST.id, " \n")
    assert (raised.value.error.kind, raised.value.error.code) == ("schema", "empty")
    assert kept(connection) == TALKED


@pytest.mark.parametrize(
    ("gone", "ids", "wanted"),
    [
        (TALKED[0], ["0001"], TALKED[1:]),
        (REPLY, ["0002", "0003", "0004"], [TALKED[0], LAST]),
        (LAST, ["0005"], TALKED[:4]),
        (A, [], [*TALKED[:2], ToolMessage("t000001.0003", "a", "read", DELETED), B, LAST]),
        (
            B,
            [],
            [*TALKED[:3], ToolMessage("t000001.0004", "b", "bash", DELETED, ok=False, code="failed"), LAST],
        ),
    ],
    ids=["prompt", "reply with calls", "answer", "result", "result with a key"],
)
def test_what_is_deleted_goes_with_its_results_and_a_lone_result_is_blanked(
    connection: apsw.Connection, gone: Message, ids: list[str], wanted: list[Message]
) -> None:
    talked(connection)
    assert messages.delete(connection, TALK, gone.id, message_hash(gone)) == tuple(f"t000001.{name}" for name in ids)
    assert kept(connection) == wanted
    header = conversations.get(connection, TALK)
    assert header is not None and header.message_count == len(wanted)


def test_results_of_a_later_reply_with_the_same_ids_of_calls_stay(connection: apsw.Connection) -> None:
    started(connection)
    writes: list[Write] = []
    for at in (2, 4):
        name = f"t000001.{at:04d}"
        writes += [
            AddMessage(TALK, AssistantMessage(name, (Call("call_0", "dispatch"),))),
            AddMessage(TALK, ToolMessage(f"t000001.{at + 1:04d}", "call_0", "dispatch", name)),
            OpenTurn(TALK, "t000001", "look", GONE, job=f"job{at}", call="call_0"),
            CloseTurn(TALK, "t000001", "completed", f"job{at}"),
        ]
    turns.apply(connection, writes)
    assert messages.delete(connection, TALK, "t000001.0002") == ("t000001.0002", "t000001.0003")
    assert [message.id for message in kept(connection)] == ["t000001.0004", "t000001.0005"]
    assert [job.id for job in jobs.listed(connection, TALK)] == ["job2", "job4"]


def test_everything_deleted_one_by_one_is_an_empty_conversation(connection: apsw.Connection) -> None:
    talked(connection)
    while found := kept(connection):
        messages.delete(connection, TALK, found[0].id)
    assert rows(connection, "message") == []
    header = conversations.get(connection, TALK)
    assert header is not None and header.message_count == 0


def child(job: str, parent: str, call: str, depth: int) -> list[Write]:
    return [
        OpenTurn(TALK, "t000001", "look", GONE, job=job, parent=parent, call=call, depth=depth),
        AddMessage(TALK, UserMessage("t000001.0001", "look"), job),
        AddPiece(TALK, "t000001.0002", "I", job=job),
    ]


def closed(*names: str) -> list[Write]:
    return [CloseTurn(TALK, "t000001", "completed", job) for job in names]


def test_children_that_a_deleted_reply_started_go_with_theirs_and_what_they_used_stays(
    connection: apsw.Connection,
) -> None:
    talked(connection)
    writes = [*child("j1", "", "a", 1), *child("j2", "j1", "x", 2), *child("j3", "", "other", 1)]
    turns.apply(connection, [*writes, *closed("j1", "j2", "j3")])
    stored(connection, batches_of_turn(2))
    before = usage.total(connection, TALK)
    messages.delete(connection, TALK, REPLY.id)
    assert [job.id for job in jobs.listed(connection, TALK)] == ["j3"]
    assert {row[0] for row in rows(connection, "message", "job")} == {"", "j3"}
    assert usage.total(connection, TALK) == before


def test_a_conversation_that_was_cleared_keeps_its_notes_its_usage_and_its_turn_numbers(
    connection: apsw.Connection,
) -> None:
    for name in (TALK, "other"):
        started(connection, name)
        stored(connection, [*batches_of_turn(1, talk=name), *batches_of_turn(2, talk=name)])
        notes.put(connection, name, "scratchpad:x", "text")
    turns.apply(connection, [*child("j1", "", "a", 1), *closed("j1"), QueuePrompt(TALK, "q", "later")])
    used = usage.total(connection, TALK)
    assert messages.clear(connection, TALK) == 10
    assert kept(connection) == []
    assert conversations.load(connection, TALK, "j1").messages == ()
    assert jobs.listed(connection, TALK) == ()
    assert (usage.total(connection, TALK), notes.get(connection, TALK, "scratchpad:x")) == (used, "text")
    assert [prompt.text for prompt in turns.waiting(connection, TALK)] == ["later"]
    assert turns.next_turn(connection, TALK) == 3
    counts = [header.message_count for header in conversations.listed(connection)]
    assert sorted(counts) == [0, 10]
    assert messages.clear(connection, TALK) == 0


def change(connection: apsw.Connection, doing: str, name: str = "t000001.0001", expect: str = "") -> object:
    if doing == "clear":
        return messages.clear(connection, TALK)
    if doing == "edit":
        return messages.edit(connection, TALK, name, "new", expect)
    return messages.delete(connection, TALK, name, expect)


@pytest.mark.parametrize("doing", ["edit", "delete", "clear"])
@pytest.mark.parametrize("job", ["", "job1"], ids=["own", "child"])
def test_nothing_is_changed_while_a_turn_is_open(connection: apsw.Connection, doing: str, job: str) -> None:
    talked(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000002", "go", this_process(), job=job)])
    before = everything(connection)
    with pytest.raises(AgentFailure) as raised:
        change(connection, doing)
    assert (raised.value.error.kind, raised.value.error.code) == ("policy", "turn_active")
    assert everything(connection) == before


@pytest.mark.parametrize("doing", ["edit", "delete"])
@pytest.mark.parametrize(
    ("name", "expect", "kind", "code"),
    [
        ("t000001.0001", message_hash(A), "persistence", "changed"),
        ("t000001.0001", "nonsense", "persistence", "changed"),
        ("t000001.0009", "", "schema", "not_found"),
        ("nonsense", "", "persistence", "invalid_key"),
    ],
    ids=["another", "no hash", "no message", "no id"],
)
def test_a_message_that_is_not_the_one_looked_at_is_left_alone(
    connection: apsw.Connection, doing: str, name: str, expect: str, kind: str, code: str
) -> None:
    talked(connection)
    before = everything(connection)
    with pytest.raises(AgentFailure) as raised:
        change(connection, doing, name, expect)
    assert (raised.value.error.kind, raised.value.error.code) == (kind, code)
    assert everything(connection) == before


def test_a_message_that_cannot_be_read_can_be_deleted_and_not_edited(connection: apsw.Connection) -> None:
    talked(connection)
    connection.execute("UPDATE message SET record = x'c1' WHERE seq IN (2, 4, 5)")
    for name in ("t000001.0002", "t000001.0005"):
        with pytest.raises(AgentFailure) as raised:
            messages.edit(connection, TALK, name, "new")
        assert raised.value.error.code == "undecodable"
        with pytest.raises(AgentFailure) as raised:
            messages.delete(connection, TALK, name, message_hash(LAST))
        assert raised.value.error.code == "changed"
    assert messages.delete(connection, TALK, "t000001.0005") == ("t000001.0005",)
    assert messages.delete(connection, TALK, "t000001.0004") == ("t000001.0004",)
    assert messages.delete(connection, TALK, "t000001.0002") == ("t000001.0002", "t000001.0003")
    assert kept(connection) == TALKED[:1]


def test_the_hash_of_a_message_is_that_of_its_record(connection: apsw.Connection) -> None:
    assert message_hash(UserMessage("t000001.0001", "go")) == message_hash(UserMessage("t000001.0001", "go", ""))
    assert len({message_hash(message) for message in TALKED}) == len(TALKED)
    assert message_hash(A) == "7cc54494352c09ac"
