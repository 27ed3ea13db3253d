import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.compaction import Compaction
from smith_server.store import codec, compaction, messages
from smith_server.store.fork import fork
from smith_server.store.writes import AddCompaction
from tests.store.builders import TALK, batches_of_turn, fresh, started, stored

FIRST = Compaction("t000001.0005", results=("t000001.0003",), before=900, after=600)
SECOND = Compaction("t000002.0004", covered=("t000001.0001", "t000001.0002"), summary="so far", before=900, after=400)


def filled(connection: apsw.Connection) -> None:
    started(connection)
    for number in (1, 2):
        stored(connection, batches_of_turn(number))
    stored(connection, [[AddCompaction(TALK, FIRST)], [AddCompaction(TALK, SECOND)]])


def test_what_is_stored_is_loaded_in_order(connection: apsw.Connection) -> None:
    filled(connection)

    assert compaction.load(connection, TALK) == (FIRST, SECOND)
    assert compaction.load(connection, "another") == ()


@pytest.mark.parametrize(
    ("changed", "left"),
    [("t000002.0005", (FIRST, SECOND)), ("t000002.0001", (FIRST,)), ("t000001.0001", ())],
    ids=["a later message", "one between them", "the first"],
)
@pytest.mark.parametrize("deleted", [False, True], ids=["edited", "deleted"])
def test_a_changed_message_makes_void_what_was_decided_after_it(
    connection: apsw.Connection, changed: str, left: tuple[Compaction, ...], deleted: bool
) -> None:
    filled(connection)

    if deleted:
        messages.delete(connection, TALK, changed)
    else:
        messages.edit(connection, TALK, changed, "other words")

    assert compaction.load(connection, TALK) == left


def test_clearing_a_conversation_leaves_none(connection: apsw.Connection) -> None:
    filled(connection)
    messages.clear(connection, TALK)

    assert compaction.load(connection, TALK) == ()


def test_a_fork_takes_along_what_holds_for_it(connection: apsw.Connection) -> None:
    filled(connection)
    fork(connection, TALK, "whole")
    fork(connection, TALK, "half", "t000002.0001")

    assert compaction.load(connection, "whole") == (FIRST, SECOND)
    assert compaction.load(connection, "half") == (FIRST,)


def test_from_a_record_on_that_cannot_be_read_there_are_none(connection: apsw.Connection) -> None:
    filled(connection)
    connection.execute("UPDATE compaction SET record = x'c1' WHERE turn = 2")

    assert compaction.load(connection, TALK) == (FIRST,)


names = st.lists(st.text(max_size=12), max_size=4).map(tuple)
records = st.builds(Compaction, st.text(), names, names, names, names, st.text(), names, st.integers(0), st.integers(0))


@given(records)
def test_any_record_comes_back_from_its_bytes_and_the_bytes_are_its_own(record: Compaction) -> None:
    data = codec.encode(record)

    assert codec.decode(data, Compaction) == record
    assert codec.encode(codec.decode(data, Compaction)) == data


def test_a_store_in_memory_has_the_table() -> None:
    assert compaction.load(fresh(), TALK) == ()
