from pathlib import Path

import apsw
import pytest

from smith_server.store.opening import Place, open_store
from smith_server.store.transaction import transaction
from tests.store.builders import rows, started


def test_the_right_to_write_is_taken_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    mine = open_store(Place(path)).connection
    other = open_store(Place(path, busy_ms=10)).connection
    with transaction(mine), pytest.raises(apsw.BusyError), transaction(other):
        pass
    with transaction(other):
        started(other)
    assert len(rows(mine, "conversation")) == 1


@pytest.mark.parametrize(("full_sync", "level"), [(False, 1), (True, 2)], ids=["process", "power"])
def test_the_level_of_safety_is_the_one_asked_for(connection: apsw.Connection, full_sync: bool, level: int) -> None:
    with transaction(connection, full_sync):
        assert connection.pragma("synchronous") == level
    assert connection.pragma("synchronous") == 1


def test_one_inside_another_is_part_of_it(connection: apsw.Connection) -> None:
    with pytest.raises(ZeroDivisionError), transaction(connection):
        with transaction(connection):
            started(connection, "inner")
        raise ZeroDivisionError
    assert rows(connection, "conversation") == []
    assert not connection.in_transaction


def test_a_commit_that_is_refused_leaves_nothing_open(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE child (x REFERENCES conversation DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(apsw.ConstraintError), transaction(connection, full_sync=True):
        connection.execute("INSERT INTO child VALUES ('nobody')")
    assert not connection.in_transaction
    assert connection.pragma("synchronous") == 1
    assert rows(connection, "child") == []
