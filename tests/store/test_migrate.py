import os
import time
from pathlib import Path

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.store import conversations, jobs, lease, search, turns
from smith_server.store.holder import this_process
from smith_server.store.migrate import APPLICATION_ID, Step, known_steps, migrate, version_of
from smith_server.store.opening import Place, open_store
from smith_server.store.repair import repair
from tests.store.builders import batches_of_turn, everything, is_index_as_rebuilt, replayed, rows, said, started, stored
from tests.store.conftest import Start
from tests.store.test_opening import names

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


def old_store(path: Path) -> None:
    """A store as the first version of the program left it, on this machine."""
    dump = Path(__file__).with_name("dumps") / "0001.sql"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute(dump.read_text("utf-8").replace("'HOST'", f"'{os.uname().nodename}'"))
    connection.close()


def of_the_first_version(connection: apsw.Connection) -> dict[str, list[object]]:
    """All that the first version knew, whatever was added since."""
    columns = {
        "conversation": "id, root, project_id, title, created, updated, used, message_count, model, role, mode",
        "pointer": "*",
        "turn": "conversation, job, turn, state, host, pid, start, prompt, model, provider, started, ended, record",
        "message": "conversation, job, turn, seq, kind, record, created",
        "piece": "*",
        "prompt": "*",
        "usage": "conversation, turn, tail, role, model, input, cache_write, cache_read, output, requests, created",
        "lease": "conversation, host, pid, start, face, token, taken",
    }
    return {
        table: rows(connection, f"{table} ORDER BY rowid" if table != "piece" else table, names)
        for table, names in columns.items()
    }


def test_a_store_of_the_first_version_keeps_everything_and_can_be_searched_at_once(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    old_store(path)
    old = apsw.Connection(str(path))
    before = of_the_first_version(old)
    assert version_of(old) == 1 and all(before.values())
    old.close()
    opened = open_store(Place(path))
    connection = opened.connection
    assert (opened.warnings, version_of(connection)) == ((), len(known_steps()))
    assert of_the_first_version(connection) == before
    assert set(connection.execute("SELECT cost, unpriced = requests FROM usage")) == {(0.0, 1)}
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    assert rows(connection, "pragma_foreign_key_check") == []
    assert [hit.job for hit in search.search(connection, "needle").messages] == ["job1"]
    assert [hit.message for hit in search.search(connection, "cannot", "f60ecdb16e5e8e82").messages] == ["t000001.0002"]
    assert is_index_as_rebuilt(connection)
    assert names(tmp_path) == ["smith.db", "smith.db-shm", "smith.db-wal", "smith.db.seal"]


def test_a_conversation_of_the_first_version_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    old_store(path)
    connection = open_store(Place(path)).connection
    mine = lease.take(connection, "first", this_process(), "terminal")
    assert repair(connection, "first") == ("t000003",)
    stored(connection, batches_of_turn(turns.next_turn(connection, "first"), this_process(), "first"))
    assert replayed(connection, "first").open_calls() == ()
    assert "All of 3" in said(replayed(connection, "first"))
    assert [(job.id, job.depth) for job in jobs.listed(connection, "first")] == [("job1", 1)]
    assert lease.beat(connection, [mine]) == ()
    turn = turns.get(connection, "second", "t000001")
    assert turn is not None and turn.record == {"code": "auth", "message": "no key"}
    transcript = conversations.load(connection, "second")
    assert (len(transcript.messages), [problem.code for problem in transcript.problems]) == (2, ["undecodable"])
    assert conversations.delete(connection, "first")
    assert rows(connection, "message", "DISTINCT conversation") == [("second",)]


@pytest.mark.parametrize("pause", [0.0, 0.005, 0.02, 0.05], ids=["at once", "soon", "later", "late"])
def test_a_store_of_the_first_version_is_old_or_new_after_a_kill_and_nothing_between(
    tmp_path: Path, start: Start, pause: float
) -> None:
    path = tmp_path / "smith.db"
    old_store(path)
    connection = apsw.Connection(str(path))
    numbers = "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n LIMIT 5000)"
    columns = (
        "'first', '', i, 1, kind, record, 1.0 FROM n, message WHERE turn = 1 AND conversation = 'first' AND seq = 1"
    )
    connection.execute(f"INSERT INTO message {numbers} SELECT {columns}")
    before = of_the_first_version(connection)
    connection.close()
    other = start("open_only", path)
    until = time.monotonic() + 30
    while not list(tmp_path.glob("*.before-*")):
        assert time.monotonic() < until and other.poll() is None
    time.sleep(pause)
    other.kill()
    other.wait()
    again = apsw.Connection(str(path))
    assert version_of(again) in (1, len(known_steps()))
    assert of_the_first_version(again) == before
    again.close()
    opened = open_store(Place(path))
    assert of_the_first_version(opened.connection) == before
    assert opened.connection.execute("SELECT count(*) FROM message_search_docsize").get == len(before["message"]) - 1
    assert not list(tmp_path.glob("*.before-*"))


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
