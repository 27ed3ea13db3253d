from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.store import conversations, memory, messages, search, turns
from smith_server.store.conversations import Header
from smith_server.store.excerpt import Excerpt
from smith_server.store.fork import fork
from smith_server.store.opening import Place, open_store
from smith_server.store.repair import repair
from smith_server.store.search import COMMON, Found, MemoryHit, MessageHit
from smith_server.store.search_index import MOST_INDEXED
from smith_server.store.writes import AddMessage, AddPiece, OpenTurn, Write
from tests.store.builders import GONE, TALK, batches_of_turn, fresh, indexed, is_index_as_rebuilt, started, stored, user


def said(connection: apsw.Connection, *texts: str, talk: str = TALK, job: str = "") -> None:
    """Store prompts, one a turn."""
    for text in texts:
        number = turns.next_turn(connection, talk) if not job else 1
        turns.apply(connection, [AddMessage(talk, user(number, text=text), job)], now=float(number))


def found(connection: apsw.Connection, query: str, **where: str) -> list[str]:
    return [hit.message for hit in search.search(connection, query, **where).messages]  # type: ignore[arg-type]


def test_a_message_is_found_with_where_it_was_said_and_the_words_around(connection: apsw.Connection) -> None:
    conversations.create(connection, Header(TALK, "/project", "About pins"))
    said(connection, "no", "Where is the needle in this haystack?")
    (hit,) = search.search(connection, "NEEDLE").messages
    assert hit == MessageHit(
        *(TALK, "t000002", "t000002.0001", "", "user", "About pins", "/project", 2.0, hit.score),
        Excerpt("Where is the needle in this haystack?", ((13, 19),)),
    )
    assert hit.score > 0


@pytest.mark.parametrize(
    ("message", "query"),
    [
        (UserMessage("t000001.0002", "look", "src/needle.py:\nhay"), "hay"),
        (AssistantMessage("t000001.0002", (Text("It is"), Text("in the hay"))), "hay"),
        (AssistantMessage("t000001.0002", (Call("c", "bash", '{"command": "cd x\\nmake hay"}'),)), "make"),
        (AssistantMessage("t000001.0002", (Call("c", "code_grep", '{"a": [{"b": "hay"}], "n": 1}'),)), "hay grep"),
        (AssistantMessage("t000001.0002", (Call("c", "bash", "no json: hay"),)), "hay"),
        (ToolMessage("t000001.0002", "c", "bash", "a lot of\nhay"), "hay"),
        (UserMessage("t000001.0002", "half \ud800 of hay"), "hay"),
        (UserMessage("t000001.0002", "zero\0hay"), "hay"),
    ],
    ids=["attached", "reply", "arguments", "nested arguments", "no json", "result", "no unicode", "zero"],
)
def test_what_was_said_told_and_answered_is_found(connection: apsw.Connection, message: Message, query: str) -> None:
    started(connection)
    turns.apply(connection, [AddMessage(TALK, message)])
    assert found(connection, query) == ["t000001.0002"]


def test_reasoning_is_not_found(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [AddMessage(TALK, AssistantMessage("t000001.0002", (Thinking("hay"), Text("no"))))])
    assert found(connection, "hay") == []


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("alpha", [1, 3]),
        ("alpha beta", [1]),
        ("beta alpha", [1]),
        ('"alpha beta"', [1]),
        ('"beta alpha"', []),
        ("alph", [1, 3]),
        ("alph ", []),
        ('"alph"', []),
        ("alph beta", []),
        ("al", []),
        ("gamma.delta", [2]),
        ("gamma.del", [2]),
        ("gamma_delta", [2]),
        ("ÄLPHA", [1, 3]),
        ("AND OR NOT NEAR", []),
        ("or", [3]),
        ("alpha -beta", [1]),
        ("alpha :: !", [1, 3]),
        ("日本", [4]),
        ("", []),
        ("  ", []),
        ('"', []),
        ("😀", []),
        ("***", []),
    ],
)
def test_every_word_has_to_be_there_as_it_was_typed(
    connection: apsw.Connection, query: str, numbers: list[int]
) -> None:
    started(connection)
    said(connection, "alpha beta", "gamma.delta", "this or alpha", "日本語")
    assert sorted(found(connection, query)) == [f"t{number:06d}.0001" for number in numbers]


def test_the_best_comes_first_and_of_equals_the_newest(connection: apsw.Connection) -> None:
    started(connection)
    said(connection, f"needle {'hay ' * 50}", "needle pin", "needle pin", f"needle needle {'hay ' * 3}")
    assert found(connection, "needle") == ["t000004.0001", "t000003.0001", "t000002.0001", "t000001.0001"]
    assert [hit.message for hit in search.search(connection, "needle", limit=2).messages] == [
        "t000004.0001",
        "t000003.0001",
    ]


def test_a_word_that_nearly_all_messages_hold_weighs_nothing(tmp_path: Path) -> None:
    connection = open_store(Place(tmp_path / "smith.db")).connection
    started(connection)
    rare = {7: "the needle", 8: "the the the the long needle", COMMON: "the needle needle"}
    writes = [AddMessage(TALK, user(number, text=rare.get(number, "the"))) for number in range(1, COMMON + 3)]
    turns.apply(connection, writes)
    assert found(connection, "the needle") == [f"t{number:06d}.0001" for number in (COMMON, 7, 8)]
    newest = [f"t{number:06d}.0001" for number in (COMMON + 2, COMMON + 1, COMMON)]
    assert [hit.message for hit in search.search(connection, "the", limit=3).messages] == newest
    assert found(connection, "the", root="/elsewhere") == []
    turns.apply(connection, [AddMessage(TALK, user(COMMON + 3, text="then a needle"))])
    assert found(connection, "needle the") == [f"t{number:06d}.0001" for number in (COMMON, 7, 8)]


def test_the_place_narrows_what_is_found(connection: apsw.Connection) -> None:
    for name, root, project in (("a", "/one", "p1"), ("b", "/one", None), ("c", "/two", "p1"), ("d", "/one_", "p10")):
        conversations.create(connection, Header(name, root, project_id=project))
        said(connection, "needle", talk=name)
    for project in ("p1", "p10"):
        memory.upsert(connection, project, "x", "needle")

    def places(project: str | None = None, root: str | None = None) -> tuple[list[str], list[str]]:
        hits = search.search(connection, "needle", project, root)
        return sorted(hit.conversation for hit in hits.messages), [hit.project for hit in hits.memories]

    assert places() == (["a", "b", "c", "d"], ["p10", "p1"])
    assert places("p1") == (["a", "c"], ["p1"])
    assert places(root="/one") == (["a", "b"], [])
    assert places("p1", "/one") == (["a", "b", "c"], ["p1"])
    assert places("p", "") == ([], [])


def test_a_root_whose_name_is_no_unicode_can_be_searched(connection: apsw.Connection) -> None:
    conversations.create(connection, Header("a", "/caf\udce9"))
    said(connection, "needle", talk="a")
    assert found(connection, "needle", root="/caf\udce9") == ["t000001.0001"]


def test_children_are_found_under_their_job(connection: apsw.Connection) -> None:
    started(connection)
    said(connection, "needle", job="job1")
    assert [(hit.conversation, hit.job) for hit in search.search(connection, "needle").messages] == [(TALK, "job1")]


def test_memories_are_found_by_their_name_and_their_text(connection: apsw.Connection) -> None:
    memory.upsert(connection, "p1", "needles", "How to thread them \ud800")
    memory.upsert(connection, "p1", "pins", "Unlike needles they have heads")
    hits = search.search(connection, "needles")
    assert [hit.id for hit in hits.memories] == ["needles", "pins"]
    assert hits.memories[1] == MemoryHit(
        "p1", "pins", hits.memories[1].score, Excerpt("Unlike needles they have heads", ((7, 14),))
    )
    memory.upsert(connection, "p1", "pins", "no more")
    memory.delete(connection, "p1", "needles")
    assert search.search(connection, "needles") == Found()


def test_what_was_changed_is_found_by_its_new_words_alone(connection: apsw.Connection) -> None:
    started(connection)
    said(connection, "first", "second")
    messages.edit(connection, TALK, "t000001.0001", "third")
    messages.delete(connection, TALK, "t000002.0001")
    assert [found(connection, word) for word in ("first", "second", "third")] == [[], [], ["t000001.0001"]]
    turns.apply(connection, [AddMessage(TALK, user(1, text="fourth"))])
    assert [found(connection, word) for word in ("third", "fourth")] == [[], ["t000001.0001"]]


@pytest.mark.parametrize("remove", [conversations.delete, messages.clear], ids=["delete", "clear"])
def test_what_is_gone_is_not_found(connection: apsw.Connection, remove: object) -> None:
    for name in (TALK, "other"):
        started(connection, name)
        said(connection, "needle", talk=name)
    said(connection, "needle", job="job1")
    assert callable(remove)
    remove(connection, TALK)
    assert [hit.conversation for hit in search.search(connection, "needle").messages] == ["other"]
    assert {row[1] for row in indexed(connection)["message_search"]} == {2}


def test_only_the_beginning_of_a_very_long_message_is_indexed(connection: apsw.Connection) -> None:
    started(connection)
    said(connection, f"near {'x' * 100} {'hay ' * (MOST_INDEXED // 4)} far")
    assert (found(connection, "near"), found(connection, "far")) == (["t000001.0001"], [])
    assert is_index_as_rebuilt(connection)


def test_an_answer_that_broke_off_is_found_after_the_repair(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000001", "go", GONE), AddPiece(TALK, "t000001.0002", "a needle")])
    assert found(connection, "needle") == []
    repair(connection, TALK)
    assert found(connection, "needle") == ["t000001.0002"]


def test_a_message_that_cannot_be_read_any_more_is_found_without_its_words(connection: apsw.Connection) -> None:
    started(connection)
    said(connection, "needle", "needle")
    connection.execute("UPDATE message SET record = x'c1' WHERE turn = 1")
    hits = search.search(connection, "needle").messages
    assert {hit.turn: hit.excerpt.text for hit in hits} == {"t000001": "", "t000002": "needle"}
    assert search.rebuild_message_search_index(connection) == 1
    assert found(connection, "needle") == ["t000002.0001"]


def test_an_index_that_was_lost_is_made_anew(connection: apsw.Connection) -> None:
    started(connection)
    stored(connection, [*batches_of_turn(1), *batches_of_turn(2)[:6]])
    memory.upsert(connection, "p1", "x", "needle")
    before = indexed(connection)
    connection.execute("INSERT INTO message_search (message_search) VALUES ('delete-all')")
    connection.execute("INSERT INTO memory_search (memory_search) VALUES ('delete-all')")
    assert search.rebuild_message_search_index(connection) == 8
    assert search.rebuild_search_index(connection) == 1
    assert indexed(connection) == before
    assert all(before.values())


@given(st.text(st.characters(), max_size=40) | st.text('"*^:(){}+-. aANDORTE\0', max_size=40), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_query_is_an_error(query: str, narrowed: bool) -> None:
    connection = fresh()
    started(connection)
    turns.apply(connection, [AddMessage(TALK, user(1, text=query)), AddMessage(TALK, user(2, text="AND OR NEAR a"))])
    memory.upsert(connection, "p1", "x", query)
    where = ("p1", "/project") if narrowed else (None, None)
    assert isinstance(search.search(connection, query, *where), Found)
    assert isinstance(search.search(connection, "a", query, query), Found)
    connection.close()


@pytest.mark.parametrize("query", ["word " * 5000, "x" * 100_000, '"' * 5000, "a.b " * 3000, "(" * 3000])
def test_a_query_of_any_length_is_answered(connection: apsw.Connection, query: str) -> None:
    started(connection)
    assert search.search(connection, query) == Found()


@given(st.lists(st.text("abcXYZ é_.", min_size=1, max_size=12), min_size=1, max_size=6), st.data())
@settings(deadline=None)
def test_every_word_of_a_message_finds_it(texts: list[str], data: st.DataObject) -> None:
    connection = fresh()
    started(connection)
    said(connection, *texts)
    at = data.draw(st.integers(0, len(texts) - 1))
    for word in texts[at].split():
        if any(char.isalnum() for char in word):
            assert f"t{at + 1:06d}.0001" in found(connection, f'"{word}"')
    connection.close()


def add(connection: apsw.Connection, number: int, text: str) -> None:
    stored(connection, batches_of_turn(turns.next_turn(connection, TALK)))


def add_of_child(connection: apsw.Connection, number: int, text: str) -> None:
    said(connection, text, job="job1")


def break_off(connection: apsw.Connection, number: int, text: str) -> None:
    turn = f"t{turns.next_turn(connection, TALK):06d}"
    writes: list[Write] = [OpenTurn(TALK, turn, text, GONE), AddPiece(TALK, f"{turn}.0002", text)]
    turns.apply(connection, writes)
    repair(connection, TALK)


def known(connection: apsw.Connection, number: int) -> Iterator[str]:
    """One of the stored messages, if there are any."""
    ids = [message.id for message in conversations.page(connection, TALK, limit=100).messages]
    yield from ids[number % len(ids) : number % len(ids) + 1] if ids else ()


def edit(connection: apsw.Connection, number: int, text: str) -> None:
    for name in known(connection, number):
        messages.edit(connection, TALK, name, text.strip() or "x")


def delete(connection: apsw.Connection, number: int, text: str) -> None:
    for name in known(connection, number):
        messages.delete(connection, TALK, name)


def copy(connection: apsw.Connection, number: int, text: str) -> None:
    for name in known(connection, number):
        fork(connection, TALK, f"{TALK}{connection.total_changes()}", name)


def clear(connection: apsw.Connection, number: int, text: str) -> None:
    messages.clear(connection, TALK)


def move(connection: apsw.Connection, number: int, text: str) -> None:
    conversations.move(connection, TALK, f"/{number}", text.strip() or None)


def remember(connection: apsw.Connection, number: int, text: str) -> None:
    memory.upsert(connection, "p1", str(number), text)


def forget(connection: apsw.Connection, number: int, text: str) -> None:
    memory.delete(connection, "p1", str(number))


DOINGS = (add, add_of_child, break_off, edit, delete, copy, clear, move, remember, forget)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(DOINGS), st.integers(0, 9), st.text("ab é\ud800", max_size=6)), max_size=25))
def test_whatever_happens_the_index_is_the_one_that_would_be_made_anew(
    doings: list[tuple[Callable[[apsw.Connection, int, str], None], int, str]],
) -> None:
    connection = fresh()
    started(connection)
    for doing, number, text in doings:
        doing(connection, number, text.replace("\ud800", "") if doing is move else text)
    for header in conversations.listed(connection, limit=1000):
        assert header.message_count == conversations.count(connection, header.id)
    assert is_index_as_rebuilt(connection)
    connection.close()
