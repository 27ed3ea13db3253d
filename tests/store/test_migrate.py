import time
from pathlib import Path

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.store.migrate import APPLICATION_ID, Step, known_steps, migrate, version_of
from smith_server.store.opening import Place, open_store
from tests.store.builders import batches_of_turn, everything, rows, started, stored
from tests.store.conftest import Start

OLD = (Step("0001_one", "CREATE TABLE one (x); INSERT INTO one VALUES (1), (2)"),)
NEW = (
    *OLD,
    Step("0002_two", "ALTER TABLE one ADD COLUMN y; UPDATE one SET y = x * 10"),
    Step("0003_three", "CREATE TABLE three AS SELECT y FROM one"),
)
BROKEN = (*NEW, Step("0004_broken", "INSERT INTO nowhere VALUES (1)"))


def store(path: Path, steps: tuple[Step, ...]) -> apsw.Connection:
    return open_store(Place(path, steps=steps)).connection


def test_a_fresh_store_has_every_step_on_record(tmp_path: Path) -> None:
    connection = store(tmp_path / "smith.db", known_steps())
    names = [step.name for step in known_steps()]
    assert names[0] == "0001_first"
    assert [name for (name,) in rows(connection, "migration", "name")] == names
    assert version_of(connection) == len(names)
    assert connection.pragma("application_id") == APPLICATION_ID


def test_an_older_store_gets_the_missing_steps_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    store(path, OLD).close()
    connection = store(path, NEW)
    assert version_of(connection) == 3
    assert rows(connection, "one") == [(1, 10), (2, 20)]
    assert rows(connection, "three") == [(10,), (20,)]
    assert [name for (name,) in rows(connection, "migration", "name")] == ["0001_one", "0002_two", "0003_three"]
    assert not list(tmp_path.glob("*.before-*"))


def test_steps_run_once(tmp_path: Path) -> None:
    connection = store(tmp_path / "smith.db", NEW)
    assert migrate(connection, NEW) == ()
    assert rows(connection, "one") == [(1, 10), (2, 20)]


def test_a_step_that_fails_leaves_the_store_as_it_was_and_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    store(path, OLD).close()
    with pytest.raises(AgentFailure) as raised:
        store(path, BROKEN)
    assert raised.value.error.kind == "persistence"
    (copy,) = tmp_path.glob("*.before-*")
    assert copy.name == "smith.db.before-0002_two"
    for file in (path, copy):
        connection = apsw.Connection(str(file))
        assert (version_of(connection), rows(connection, "one")) == (1, [(1,), (2,)])
    assert rows(store(path, NEW), "three") == [(10,), (20,)]
    assert not copy.exists()


def test_the_copy_holds_what_waited_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    other = store(path, OLD)
    other.execute("INSERT INTO one VALUES (3)")
    with pytest.raises(AgentFailure):
        store(path, BROKEN)
    (copy,) = tmp_path.glob("*.before-*")
    assert rows(apsw.Connection(str(copy)), "one") == [(1,), (2,), (3,)]
    other.close()


@pytest.mark.parametrize("pause", [0.0, 0.01, 0.05], ids=["at once", "soon", "later"])
def test_a_kill_in_the_middle_of_a_migration_leaves_the_old_store(tmp_path: Path, start: Start, pause: float) -> None:
    path = tmp_path / "smith.db"
    connection = store(path, known_steps())
    started(connection)
    stored(connection, batches_of_turn(1))
    before = everything(connection)
    connection.close()
    other = start("migrate_slowly", path)
    until = time.monotonic() + 30
    while not list(tmp_path.glob("*.before-*")):
        assert time.monotonic() < until and other.poll() is None
    time.sleep(pause)
    other.kill()
    other.wait()
    again = store(path, known_steps())
    assert again.execute("PRAGMA integrity_check").get == "ok"
    assert version_of(again) == len(known_steps())
    assert everything(again) == before
