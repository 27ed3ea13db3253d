import apsw

from smith_server.core.messages import Usage
from smith_server.store import turns, usage
from smith_server.store.writes import SetUsage
from tests.store.builders import TALK, started


def test_nothing_used_is_zero(connection: apsw.Connection) -> None:
    started(connection)
    assert usage.total(connection, TALK) == Usage()
    assert usage.by_model(connection, TALK) == {}


def test_turns_and_children_add_up_and_stay_apart_by_model(connection: apsw.Connection) -> None:
    for name in (TALK, "talk2"):
        started(connection, name)
    writes = [
        SetUsage(TALK, "t000001", Usage(1, 2, 3, 4, 1), model="big"),
        SetUsage(TALK, "t000001", Usage(10, 0, 0, 1, 1), "job1", "explorer", "small"),
        SetUsage(TALK, "t000002", Usage(100, 0, 0, 5, 2), model="big"),
        SetUsage("talk2", "t000001", Usage(7, 7, 7, 7, 7), model="big"),
    ]
    turns.apply(connection, writes)
    assert usage.total(connection, TALK) == Usage(111, 2, 3, 10, 4)
    assert usage.by_model(connection, TALK) == {"big": Usage(101, 2, 3, 9, 3), "small": Usage(10, 0, 0, 1, 1)}


def test_the_last_word_on_a_turn_holds(connection: apsw.Connection) -> None:
    started(connection)
    for count in (1, 2, 3):
        turns.apply(connection, [SetUsage(TALK, "t000001", Usage(count * 10, 0, 0, count, count))])
    assert usage.total(connection, TALK) == Usage(30, 0, 0, 3, 3)
