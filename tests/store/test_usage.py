import apsw

from smith_server.core.messages import Usage
from smith_server.store import conversations, turns, usage
from smith_server.store.conversations import Header
from smith_server.store.usage import DayUsage, TailUsage
from smith_server.store.writes import SetUsage
from tests.store.builders import TALK, started


def test_nothing_used_is_zero(connection: apsw.Connection) -> None:
    started(connection)
    assert usage.total(connection, TALK) == Usage()


def test_turns_and_children_add_up_and_stay_apart_by_role(connection: apsw.Connection) -> None:
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
    assert usage.by_role(connection, TALK) == {"explorer": Usage(10, 0, 0, 1, 1), "parent": Usage(101, 2, 3, 9, 3)}


def test_roles_are_told_apart_by_turn_and_child(connection: apsw.Connection) -> None:
    started(connection)
    writes = [
        SetUsage(TALK, "t000002", Usage(1), "b", "worker", "m"),
        SetUsage(TALK, "t000002", Usage(2), "a", "explorer", "m"),
        SetUsage(TALK, "t000002", Usage(4), "parent", "orchestrator", "m"),
        SetUsage(TALK, "t000001", Usage(8), "z", "worker", "n"),
    ]
    turns.apply(connection, writes)
    assert usage.by_role(connection, TALK) == {"explorer": Usage(2), "parent": Usage(4), "worker": Usage(9)}
    second = (
        TailUsage("t000002", "parent", "orchestrator", "m", Usage(4)),
        TailUsage("t000002", "a", "explorer", "m", Usage(2)),
        TailUsage("t000002", "b", "worker", "m", Usage(1)),
    )
    assert usage.by_tail(connection, TALK) == (TailUsage("t000001", "z", "worker", "n", Usage(8)), *second)
    assert usage.by_tail(connection, TALK, "t000002") == second
    assert usage.by_tail(connection, TALK, "t000003") == ()


def test_days_places_and_models_are_added_up_apart(connection: apsw.Connection) -> None:
    for name, root, project in (("a", "/one", "p1"), ("b", "/two", "p1"), ("c", "/caf\udce9", None)):
        conversations.create(connection, Header(name, root, project_id=project))
    noon = 1_700_049_600.0
    for name, turn, moment, model in (
        ("a", "t000001", noon, "m"),
        ("a", "t000002", noon + 60, "m"),
        ("a", "t000003", noon + 86_400, "m"),
        ("b", "t000001", noon, "n"),
        ("c", "t000001", noon, "m"),
    ):
        turns.apply(connection, [SetUsage(name, turn, Usage(1, 0, 0, 2, 1), model=model)], now=moment)
    first = connection.execute("SELECT date(?, 'unixepoch', 'localtime')", (noon,)).get
    second = connection.execute("SELECT date(?, 'unixepoch', 'localtime')", (noon + 86_400,)).get
    one, two, odd = (
        DayUsage(first, "/one", "p1", "m", Usage(2, 0, 0, 4, 2)),
        DayUsage(first, "/two", "p1", "n", Usage(1, 0, 0, 2, 1)),
        DayUsage(first, "/caf\udce9", None, "m", Usage(1, 0, 0, 2, 1)),
    )
    later = DayUsage(second, "/one", "p1", "m", Usage(1, 0, 0, 2, 1))
    assert usage.by_day(connection) == (one, two, odd, later)
    assert usage.by_day(connection, since=noon + 100) == (later,)
    assert usage.by_day(connection, root="/one") == (one, later)
    assert usage.by_day(connection, root="/caf\udce9") == (odd,)
    assert usage.by_day(connection, project="p1") == (one, two, later)
    conversations.delete(connection, "a")
    assert usage.by_day(connection, project="p1") == (two,)


def test_the_last_word_on_a_turn_holds(connection: apsw.Connection) -> None:
    started(connection)
    for count in (1, 2, 3):
        turns.apply(connection, [SetUsage(TALK, "t000001", Usage(count * 10, 0, 0, count, count))])
    assert usage.total(connection, TALK) == Usage(30, 0, 0, 3, 3)
