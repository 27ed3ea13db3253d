import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import AgentFailure
from smith_server.store import conversations, notes
from smith_server.store.notes import NotePreview
from tests.store.builders import TALK, fresh, rows, started


def ids(connection: apsw.Connection, prefix: str = "", talk: str = TALK) -> list[str]:
    return [note.id for note in notes.listed(connection, talk, prefix)]


def test_the_id_of_a_note_says_what_it_is() -> None:
    assert notes.scratchpad_id("dispatch/J") == "scratchpad:dispatch/J"
    assert notes.turn_record_id("t000012") == "turn_record-t000012"


@pytest.mark.parametrize("make", [lambda: notes.scratchpad_id(""), lambda: notes.turn_record_id("12")])
def test_what_names_no_note_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(AgentFailure) as raised:
        make()
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")


def test_a_note_is_written_read_written_again_and_deleted(connection: apsw.Connection) -> None:
    started(connection)
    name = notes.scratchpad_id("plan:first")
    notes.put(connection, TALK, name, "one", now=5.0)
    notes.put(connection, TALK, name, "two \ud800", now=9.0)
    assert notes.get(connection, TALK, name) == "two \ud800"
    assert rows(connection, "note", "id, created, updated") == [("scratchpad:plan:first", 5.0, 9.0)]
    assert notes.delete(connection, TALK, name)
    assert not notes.delete(connection, TALK, name)
    assert notes.get(connection, TALK, name) is None
    assert ids(connection) == []


def test_a_list_shows_the_beginning_of_each_note(connection: apsw.Connection) -> None:
    started(connection)
    notes.put(connection, TALK, "scratchpad:a", f"\n  \n  The first line {'x' * 100}\nThe second", now=5.0)
    notes.put(connection, TALK, "scratchpad:b", "", now=6.0)
    notes.put(connection, TALK, "scratchpad:c", "é\ud800" * 4000, now=7.0)
    first, second, third = notes.listed(connection, TALK)
    assert first == NotePreview("scratchpad:a", f"The first line {'x' * 64}…", 132, 5.0)
    assert second == NotePreview("scratchpad:b", "", 0, 6.0)
    assert (len(third.label), third.label[:1], third.size) == (80, "é", 20_000)


def test_letters_that_are_wildcards_elsewhere_stand_for_themselves(connection: apsw.Connection) -> None:
    started(connection)
    for key in ("a_b", "axb", "a%b", "a%", "A_b", "a_"):
        notes.put(connection, TALK, notes.scratchpad_id(key), key)
    assert ids(connection, "scratchpad:a_") == ["scratchpad:a_", "scratchpad:a_b"]
    assert ids(connection, "scratchpad:a%") == ["scratchpad:a%", "scratchpad:a%b"]
    assert ids(connection, "%") == []


@pytest.mark.parametrize("other", ["c10", "c", "c_", "%", "C1"])
def test_notes_of_another_conversation_are_not_seen(connection: apsw.Connection, other: str) -> None:
    for talk in ("c1", other):
        started(connection, talk)
        notes.put(connection, talk, "scratchpad:x", talk)
    assert notes.delete(connection, other, "scratchpad:x")
    assert (ids(connection, talk="c1"), ids(connection, talk=other)) == (["scratchpad:x"], [])
    assert notes.get(connection, "c1", "scratchpad:x") == "c1"


def test_notes_go_with_their_conversation(connection: apsw.Connection) -> None:
    started(connection)
    notes.put(connection, TALK, "scratchpad:x", "text")
    conversations.delete(connection, TALK)
    assert rows(connection, "note") == []


@pytest.mark.parametrize(("talk", "name"), [("a:b", "x"), ("", "x"), (TALK, ""), (TALK, "\ud800")])
def test_a_note_that_cannot_have_a_key_is_refused(connection: apsw.Connection, talk: str, name: str) -> None:
    started(connection)
    with pytest.raises(AgentFailure) as raised:
        notes.put(connection, talk, name, "text")
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")


names = st.text("c1_%:/\0é", min_size=1, max_size=5)


@given(st.dictionaries(names, st.text(st.characters(), max_size=9), max_size=6), st.text("c1_%:/\0é", max_size=3))
def test_every_name_and_every_text_is_kept_and_found_by_how_it_begins(kept: dict[str, str], prefix: str) -> None:
    connection = fresh()
    started(connection)
    for name, text in kept.items():
        notes.put(connection, TALK, name, text)
    assert {name: notes.get(connection, TALK, name) for name in kept} == kept
    assert ids(connection, prefix) == sorted(name for name in kept if name.startswith(prefix))
