import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import AssistantMessage, Call, ToolMessage, UserMessage
from smith_server.store import conversations, lease, notes, search, turns
from smith_server.store.conversations import Header
from smith_server.store.holder import this_process
from smith_server.store.keys import message_id
from smith_server.store.writes import AddMessage, AddPiece, OpenTurn, QueuePrompt, Write
from tests.store.builders import (
    GONE,
    TABLES,
    TALK,
    batches_of_turn,
    everything,
    indexed,
    is_index_as_rebuilt,
    replayed,
    rows,
    started,
    stored,
    user,
)


def test_a_new_conversation_is_stored_as_it_was_made(connection: apsw.Connection) -> None:
    made = conversations.create(
        connection, Header("one", "/project", "A title", project_id="p1", model="m", role="smith", mode="plan"), now=5.0
    )
    assert made == Header("one", "/project", "A title", 5.0, 5.0, 1, 0, "p1", "m", "smith", "plan")
    assert conversations.get(connection, "one") == made


def test_what_is_not_there_is_none(connection: apsw.Connection) -> None:
    assert conversations.get(connection, "nothing") is None
    assert conversations.get(connection, "caf\udce9") is None
    assert conversations.load(connection, "nothing").messages == ()
    assert conversations.count(connection, "nothing") == 0


def test_an_id_can_be_used_once(connection: apsw.Connection) -> None:
    started(connection)
    with pytest.raises(apsw.ConstraintError):
        started(connection)


def ids(found: tuple[Header, ...]) -> list[str]:
    return [header.id for header in found]


def test_the_list_of_a_root_has_the_last_used_first_and_no_other_root(connection: apsw.Connection) -> None:
    for name, root in (("a", "/one"), ("b", "/two"), ("c", "/one"), ("d", "/one_"), ("e", "/one")):
        conversations.create(connection, Header(name, root))
    conversations.touch(connection, "a")
    assert ids(conversations.listed(connection, "/one")) == ["a", "e", "c"]
    assert ids(conversations.listed(connection)) == ["a", "e", "d", "c", "b"]


def test_a_list_read_in_pages_is_the_whole_list(connection: apsw.Connection) -> None:
    names = [f"c{number}" for number in range(25)]
    for name in names:
        conversations.create(connection, Header(name, "/project"))
    pages = [conversations.listed(connection, "/project", limit=10)]
    while len(pages[-1]) == 10:
        pages.append(conversations.listed(connection, "/project", limit=10, before=pages[-1][-1].used))
    assert [len(page) for page in pages] == [10, 10, 5]
    assert [name for page in pages for name in ids(page)] == names[::-1]


def test_a_list_can_be_narrowed_to_a_project_in_whatever_root(connection: apsw.Connection) -> None:
    known = (("a", "/one", "p1"), ("b", "/two", "p1"), ("c", "/one", "p10"), ("d", "/one", None))
    for name, root, project in known:
        conversations.create(connection, Header(name, root, project_id=project))
    assert ids(conversations.listed(connection, project="p1")) == ["b", "a"]
    assert ids(conversations.listed(connection, project="p1", limit=1)) == ["b"]
    before = conversations.listed(connection, project="p1")[0].used
    assert ids(conversations.listed(connection, project="p1", before=before)) == ["a"]
    assert ids(conversations.listed(connection, project="p")) == []


def test_an_id_is_found_by_its_beginning_where_that_is_enough(connection: apsw.Connection) -> None:
    for name, root in (("ab1", "/one"), ("ab2", "/two"), ("ab", "/two"), ("a_c", "/one"), ("axc", "/one")):
        conversations.create(connection, Header(name, root))
    known = {"ab1": "ab1", "ab": "ab", "a_": "a_c", "ax": "axc"}
    assert {beginning: conversations.find(connection, beginning).id for beginning in known} == known
    assert conversations.find(connection, "ab", "/one").id == "ab1"
    for beginning, place in (("b", None), ("ab2", "/one"), ("%", None), ("AB1", None)):
        with pytest.raises(AgentFailure) as raised:
            conversations.find(connection, beginning, place)
        assert (raised.value.error.kind, raised.value.error.code) == ("schema", "not_found")
    with pytest.raises(AgentFailure) as raised:
        conversations.find(connection, "a", "/one")
    assert (raised.value.error.code, raised.value.error.data) == ("ambiguous", {"ids": ["a_c", "ab1", "axc"]})


def test_conversations_whose_ids_begin_alike_are_listed_with_as_much_as_tells_them_apart(
    connection: apsw.Connection,
) -> None:
    for name, title in (("abcdefghijk1", "first"), ("abcdefghijl1", ""), ("abzdefghijl1", "third")):
        conversations.create(connection, Header(name, "/one", title))
    with pytest.raises(AgentFailure) as raised:
        conversations.find(connection, "ab")
    assert raised.value.error.message.splitlines() == [
        "'ab' fits several conversations. Give more of the id:",
        "  abcdefghijk  first",
        "  abcdefghijl  (empty)",
        "  abzdefghijl  third",
    ]


def test_what_was_chosen_for_a_conversation_is_kept_and_taken_back(connection: apsw.Connection) -> None:
    started(connection)
    started(connection, "other")
    conversations.set_model(connection, TALK, "m", "p")
    conversations.set_role(connection, TALK, "orchestrator")
    conversations.set_mode(connection, TALK, "plan")
    header = conversations.get(connection, TALK)
    assert header is not None
    assert (header.model, header.provider, header.role, header.mode) == ("m", "p", "orchestrator", "plan")
    conversations.set_model(connection, TALK, None)
    conversations.set_role(connection, TALK, None)
    conversations.set_mode(connection, TALK, None)
    assert conversations.get(connection, TALK) == Header(TALK, "/project", "", 1.0, 1.0, 1)
    assert conversations.get(connection, "other") == Header("other", "/project", "", 1.0, 1.0, 2)


def test_a_conversation_that_was_moved_is_listed_where_it_is(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, batches_of_turn(1))
    conversations.move(connection, TALK, "/else\udce9where", "p1")
    assert ids(conversations.listed(connection, "/project")) == []
    assert ids(conversations.listed(connection, "/else\udce9where")) == [TALK]
    assert ids(conversations.listed(connection, project="p1")) == [TALK]
    assert search.search(connection, "done", root="/project").messages == ()
    assert len(search.search(connection, "done", "p1").messages) == 3
    assert is_index_as_rebuilt(connection)


def test_a_clock_that_goes_back_changes_no_order(connection: apsw.Connection) -> None:
    for moment, name in ((9000.0, "a"), (5000.0, "b"), (1000.0, "c")):
        conversations.create(connection, Header(name, "/project"), now=moment)
    conversations.touch(connection, "b", now=10.0)
    assert ids(conversations.listed(connection, "/project")) == ["b", "c", "a"]
    for number, moment in ((1, 500.0), (2, 100.0), (3, 300.0)):
        turns.apply(connection, [AddMessage("a", user(number, text=str(number)))], now=moment)
    assert [message.id[:7] for message in conversations.load(connection, "a").messages] == [
        "t000001",
        "t000002",
        "t000003",
    ]


def test_a_title_is_changed_and_the_place_in_the_list_stays(connection: apsw.Connection) -> None:
    for name in ("a", "b"):
        conversations.create(connection, Header(name, "/project"))
    conversations.set_title(connection, "a", "About \ud800 time")
    found = conversations.listed(connection, "/project")
    assert [(header.id, header.title) for header in found] == [("b", ""), ("a", "About \ud800 time")]


def test_each_root_has_a_pointer_and_so_has_no_root(connection: apsw.Connection) -> None:
    odd = "/caf\udce9"
    for root, name in (("/one", "a"), ("", "b"), (odd, "c")):
        conversations.point(connection, root, name)
    conversations.point(connection, "/one", "d")
    assert [conversations.pointer(connection, root) for root in ("/one", "", odd, "/two")] == ["d", "b", "c", None]
    conversations.point(connection, "/one", None)
    assert conversations.pointer(connection, "/one") is None


def test_a_root_whose_name_is_no_unicode_is_listed_by_it(connection: apsw.Connection) -> None:
    conversations.create(connection, Header("a", "/caf\udce9"))
    assert [header.root for header in conversations.listed(connection, "/caf\udce9")] == ["/caf\udce9"]


def test_deleting_leaves_no_row_and_no_pointer(connection: apsw.Connection) -> None:
    started(connection, "other")
    conversations.point(connection, "/other", "other")
    before = everything(connection)
    started(connection)
    stored(connection, [*batches_of_turn(1), *batches_of_turn(2)[:5]])
    child: list[Write] = [
        OpenTurn(TALK, "t000001", "look", GONE, job="job1"),
        AddMessage(TALK, UserMessage("t000001.0001", "look"), job="job1"),
        QueuePrompt(TALK, "q1", "later"),
    ]
    turns.apply(connection, child)
    turns.apply(connection, [AddPiece(TALK, "t000009.0001", "x")])
    lease.take(connection, TALK, this_process(), "terminal")
    notes.put(connection, TALK, "scratchpad:x", "text")
    conversations.point(connection, "/project", TALK)
    assert all(rows(connection, table) for table in TABLES)
    assert conversations.delete(connection, TALK)
    assert everything(connection) == before
    assert indexed(connection)["message_search"] == []
    assert not conversations.delete(connection, TALK)


def numbered(turn: int, count: int) -> list[AddMessage]:
    return [AddMessage(TALK, user(turn, seq, f"{turn}/{seq}")) for seq in range(1, count + 1)]


def test_messages_stay_in_order_past_every_width_of_their_numbers(connection: apsw.Connection) -> None:
    started(connection)
    wanted = [(1, seq) for seq in range(1, 10_051)] + [(turn, 1) for turn in range(2, 121)] + [(1_000_000, 1)]
    turns.apply(connection, [AddMessage(TALK, user(*key)) for key in reversed(wanted)])
    found = [message.id for message in conversations.load(connection, TALK).messages]
    assert found == [message_id(*key) for key in wanted]
    assert conversations.count(connection, TALK) == len(wanted)
    header = conversations.get(connection, TALK)
    assert header is not None and header.message_count == len(wanted)
    assert turns.next_turn(connection, TALK) == 1_000_001


def test_pages_from_the_end_put_together_are_the_conversation(connection: apsw.Connection) -> None:
    started(connection)
    for turn in range(1, 8):
        turns.apply(connection, numbered(turn, 11))
    whole = conversations.load(connection, TALK).messages
    pages = [conversations.page(connection, TALK, limit=20).messages]
    assert pages[0] == whole[-20:]
    while len(pages[0]) == 20:
        pages.insert(0, conversations.page(connection, TALK, limit=20, before=pages[0][0].id).messages)
    assert tuple(message for page in pages for message in page) == whole


def test_messages_of_children_and_of_others_stay_apart(connection: apsw.Connection) -> None:
    for name in ("c1", "c10"):
        started(connection, name)
    mine, other, child = user(1, text="mine"), user(1, text="other"), user(1, text="child")
    turns.apply(connection, [AddMessage("c1", mine), AddMessage("c10", other), AddMessage("c1", child, "job")])
    assert conversations.load(connection, "c1").messages == (mine,)
    assert conversations.load(connection, "c10").messages == (other,)
    assert conversations.load(connection, "c1", "job").messages == (child,)
    header = conversations.get(connection, "c1")
    assert header is not None and header.message_count == 1


@pytest.mark.parametrize("seq", [1, 2, 3, 4, 5])
def test_one_row_that_cannot_be_read_costs_that_row_only(connection: apsw.Connection, seq: int) -> None:
    started(connection)
    stored(connection, [*batches_of_turn(1), *batches_of_turn(2), *batches_of_turn(3)])
    connection.execute("UPDATE message SET record = x'c1ff' WHERE turn = 2 AND seq = ?", (seq,))
    found = conversations.load(connection, TALK)
    assert [(problem.kind, problem.code) for problem in found.problems] == [("persistence", "undecodable")]
    kept = replayed(connection).messages
    assert [message.id for message in kept if not message.id.startswith("t000002")] == [
        message_id(turn, number) for turn in (1, 3) for number in range(1, 6)
    ]
    bad = [message for message in kept if isinstance(message, ToolMessage) and not message.ok]
    assert [message.code for message in bad] == (["interrupted"] if seq in (3, 4) else [])
    page = conversations.page(connection, TALK, limit=15)
    assert (len(page.messages), [problem.code for problem in page.problems]) == (14, ["undecodable"])


def test_calls_of_a_running_turn_wait_for_their_results(connection: apsw.Connection) -> None:
    started(connection)
    reply = AssistantMessage("t000001.0002", (Call("c", "bash"),), stop="tool_use")
    begun: list[Write] = [
        OpenTurn(TALK, "t000001", "go", this_process()),
        AddMessage(TALK, user(1)),
        AddMessage(TALK, reply),
    ]
    turns.apply(connection, begun)
    assert conversations.load(connection, TALK).messages == (user(1), reply)


def test_a_page_in_front_of_what_is_no_message_is_refused(connection: apsw.Connection) -> None:
    started(connection)
    with pytest.raises(AgentFailure) as raised:
        conversations.page(connection, TALK, limit=1, before="nonsense")
    assert raised.value.error.code == "invalid_key"
