import apsw

from smith_server.store import jobs, turns
from smith_server.store.holder import this_process
from smith_server.store.jobs import Job
from smith_server.store.repair import repair
from smith_server.store.writes import CloseTurn, OpenTurn, Write
from tests.store.builders import GONE, TALK, everything, started


def opened(turn: str, job: str, **more: object) -> OpenTurn:
    return OpenTurn(TALK, turn, f"task of {job}", this_process(), job=job, **more)  # type: ignore[arg-type]


def test_children_are_listed_by_turn_in_the_order_in_which_they_began(connection: apsw.Connection) -> None:
    started(connection)
    begun: list[Write] = [
        OpenTurn(TALK, "t000001", "go", this_process()),
        opened("t000002", "z", call="c1", role="worker", depth=1, model="m"),
        opened("t000002", "a", parent="z", call="c9", role="explorer", depth=2),
        opened("t000001", "m", call="c2", role="worker", depth=1),
        opened("t000002", "b", call="c3", role="worker", depth=1),
    ]
    turns.apply(connection, begun, now=5.0)
    turns.apply(connection, begun, now=6.0)
    turns.apply(connection, [CloseTurn(TALK, "t000002", "cancelled", "a")], now=9.0)
    found = jobs.listed(connection, TALK)
    assert [job.id for job in found] == ["m", "z", "a", "b"]
    assert found[1] == Job("z", "t000002", "", "c1", "worker", 1, "open", "task of z", "m", 5.0, None)
    assert found[2] == Job("a", "t000002", "z", "c9", "explorer", 2, "cancelled", "task of a", "", 5.0, 9.0)
    assert jobs.listed(connection, TALK, "t000002") == found[1:]
    assert jobs.listed(connection, TALK, "t000003") == ()


def test_a_child_of_which_no_depth_is_told_lies_one_deep(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [opened("t000001", "a")])
    assert [job.depth for job in jobs.listed(connection, TALK)] == [1]


def test_a_child_that_died_with_its_process_is_listed_as_interrupted(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(connection, [OpenTurn(TALK, "t000001", "look", GONE, job="a", call="c", role="worker", depth=1)])
    repair(connection, TALK, now=7.0)
    assert [(job.state, job.ended, job.call) for job in jobs.listed(connection, TALK)] == [("interrupted", 7.0, "c")]


def test_only_children_of_the_named_calls_are_dropped(connection: apsw.Connection) -> None:
    started(connection)
    turns.apply(
        connection,
        [
            opened("t000001", "a", call="c1"),
            opened("t000001", "b", parent="a", call="c2"),
            opened("t000001", "d", call="c2"),
            opened("t000002", "e", call="c1"),
        ],
    )
    before = everything(connection)
    jobs.drop(connection, TALK, "t000001", "", ["c9"])
    assert everything(connection) == before
    jobs.drop(connection, TALK, "t000001", "", ["c1"])
    assert [job.id for job in jobs.listed(connection, TALK)] == ["d", "e"]
