import itertools
import time
from pathlib import Path

import apsw
import pytest

from smith_server.core.messages import Message
from smith_server.store import conversations, follow, messages, turns
from smith_server.store.opening import Place, open_store
from smith_server.store.pages import Said
from smith_server.store.writes import AddMessage
from tests.store.builders import GONE, TALK, batches_of_turn, replayed, started, stored, user
from tests.store.conftest import Start


@pytest.fixture(params=["same", "other"])
def writer(request: pytest.FixtureRequest, tmp_path: Path, reader: apsw.Connection) -> apsw.Connection:
    """Who writes: the connection that looks on, or another one."""
    return reader if request.param == "same" else open_store(Place(tmp_path / "smith.db")).connection


@pytest.fixture
def reader(tmp_path: Path) -> apsw.Connection:
    connection = open_store(Place(tmp_path / "smith.db")).connection
    for name in (TALK, "other"):
        started(connection, name)
    stored(connection, batches_of_turn(1))
    return connection


def test_what_is_added_is_told_once(reader: apsw.Connection, writer: apsw.Connection) -> None:
    last = follow.cursor(reader, TALK)
    assert follow.changes_since(reader, TALK, last) == follow.Changes(last)
    child, own = user(2, text="child"), user(2, text="own")
    turns.apply(writer, [AddMessage(TALK, child, "job1"), AddMessage("other", user(9)), AddMessage(TALK, own)])
    told = follow.changes_since(reader, TALK, last)
    assert (told.state, told.messages) == ("grown", (Said(child, "job1"), Said(own)))
    again = follow.changes_since(reader, TALK, told.cursor)
    assert (again.state, again.messages) == ("same", ())


def test_what_happens_elsewhere_is_no_change(reader: apsw.Connection, writer: apsw.Connection) -> None:
    last = follow.cursor(reader, TALK)
    conversations.set_title(writer, TALK, "new")
    turns.apply(writer, [AddMessage("other", user(1))])
    messages.clear(writer, "other")
    told = follow.changes_since(reader, TALK, last)
    assert (told.state, told.messages) == ("same", ())
    turns.apply(writer, [AddMessage(TALK, user(2))])
    assert follow.changes_since(reader, TALK, told.cursor).messages == (Said(user(2)),)


def test_it_is_told_whether_a_turn_is_open(reader: apsw.Connection, writer: apsw.Connection) -> None:
    last = follow.cursor(reader, TALK)
    stored(writer, batches_of_turn(2, GONE)[:4])
    told = follow.changes_since(reader, TALK, last)
    assert (told.state, told.is_running) == ("grown", True)
    stored(writer, batches_of_turn(2, GONE)[4:])
    assert not follow.changes_since(reader, TALK, told.cursor).is_running


@pytest.mark.parametrize("doing", ["edit", "delete", "clear"])
def test_after_a_change_of_what_was_shown_all_has_to_be_read_again(
    reader: apsw.Connection, writer: apsw.Connection, doing: str
) -> None:
    last = follow.cursor(reader, TALK)
    if doing == "edit":
        messages.edit(writer, TALK, "t000001.0001", "new")
    elif doing == "delete":
        messages.delete(writer, TALK, "t000001.0005")
    else:
        messages.clear(writer, TALK)
    turns.apply(writer, [AddMessage(TALK, user(2))])
    told = follow.changes_since(reader, TALK, last)
    assert (told.state, told.messages) == ("rewritten", ())
    assert told.cursor == follow.cursor(reader, TALK)
    turns.apply(writer, [AddMessage(TALK, user(3))])
    assert follow.changes_since(reader, TALK, told.cursor).messages == (Said(user(3)),)


def test_nothing_is_missed_when_the_newest_rows_of_others_go(reader: apsw.Connection, writer: apsw.Connection) -> None:
    turns.apply(writer, [AddMessage("other", user(1, seq)) for seq in range(1, 50)])
    last = follow.cursor(reader, TALK)
    conversations.delete(writer, "other")
    turns.apply(writer, [AddMessage(TALK, user(2))])
    assert follow.changes_since(reader, TALK, last).messages == (Said(user(2)),)


def test_a_conversation_that_was_deleted_is_gone(reader: apsw.Connection, writer: apsw.Connection) -> None:
    last = follow.cursor(reader, TALK)
    conversations.delete(writer, TALK)
    assert follow.changes_since(reader, TALK, last).state == "gone"


def test_a_message_that_cannot_be_read_does_not_hold_up_the_others(
    reader: apsw.Connection, writer: apsw.Connection
) -> None:
    last = follow.cursor(reader, TALK)
    turns.apply(writer, [AddMessage(TALK, user(2)), AddMessage(TALK, user(3))])
    writer.execute("DROP TRIGGER message_changed; UPDATE message SET record = x'c1' WHERE turn = 2")
    assert follow.changes_since(reader, TALK, last).messages == (Said(user(3)),)


def test_another_process_is_followed_to_its_end(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    connection = open_store(Place(path)).connection
    other = start("write_turns", path, "20")
    assert other.stdin is not None and other.stdout is not None and other.stdout.readline() == "ready\n"
    last = follow.cursor(connection, TALK)
    other.stdin.write("go\n")
    other.stdin.flush()
    seen: list[Message] = []
    until = time.monotonic() + 60
    while len(seen) < 100:
        assert time.monotonic() < until
        told = follow.changes_since(connection, TALK, last)
        assert told.state in ("same", "grown")
        seen += [new.message for new in told.messages]
        last = told.cursor
    assert seen == replayed(connection).messages


def test_asking_when_nothing_happened_reads_no_message(reader: apsw.Connection) -> None:
    turns.apply(reader, [AddMessage(TALK, user(2, seq)) for seq in range(1, 5000)])
    last = follow.cursor(reader, TALK)
    steps = itertools.count()
    reader.set_progress_handler(lambda: next(steps) < 0, 1)
    assert follow.changes_since(reader, TALK, last).state == "same"
    reader.set_progress_handler(None)
    assert 0 < next(steps) < 60
