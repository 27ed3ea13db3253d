from pathlib import Path

from smith_server.store import conversations, memory, search, turns
from smith_server.store.opening import Place, open_store
from tests.store.builders import batches_of_turn, is_index_as_rebuilt, replayed, rows
from tests.store.conftest import Start

EACH = 10 * len(batches_of_turn(1))


def test_two_processes_write_two_hundred_commits_side_by_side(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    both = [start("write_turns", path, "10", name) for name in ("left", "right")]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    told = [process.communicate("go\n")[0].split() for process in both]
    assert [len(lines) for lines in told] == [EACH, EACH] == [100, 100]
    assert [process.returncode for process in both] == [0, 0]
    connection = open_store(Place(path)).connection
    for name in ("left", "right"):
        assert len(replayed(connection, name).messages) == 50
    assert rows(connection, "turn", "count(*) FILTER (WHERE state = 'completed')") == [(20,)]


def test_two_processes_do_a_hundred_turns_each_and_nothing_is_lost_or_out_of_order(
    tmp_path: Path, start: Start
) -> None:
    path = tmp_path / "smith.db"
    both = [start("write_and_remember", path, "100", name) for name in ("left", "right")]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert [process.communicate("go\n")[0] for process in both] == ["done\n", "done\n"]
    connection = open_store(Place(path)).connection
    for name in ("left", "right"):
        found = [message.id for message in replayed(connection, name).messages]
        assert found == [f"t{turn:06d}.{seq:04d}" for turn in range(1, 101) for seq in range(1, 6)]
        header = conversations.get(connection, name)
        assert header is not None and header.message_count == 500
        assert turns.next_turn(connection, name) == 101
        hits = search.search(connection, f"learned {name}", "p1", limit=500)
        assert {hit.id for hit in hits.memories} == {f"{name}:{number}" for number in range(1, 101)}
    assert rows(connection, "turn", "count(*) FILTER (WHERE state = 'completed')") == [(200,)]
    assert len(memory.listed(connection, "p1")) == 200
    assert is_index_as_rebuilt(connection)
    assert connection.execute("PRAGMA integrity_check").get == "ok"


def test_processes_that_make_the_store_at_the_same_time_share_one(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    three = [start("make_titled", path) for _ in range(3)]
    for process in three:
        assert process.communicate("go\n")[0].count("\n") == 101
    connection = open_store(Place(path)).connection
    found = conversations.listed(connection, "/project", limit=1000)
    assert len({header.id for header in found}) == 300
    assert len({header.used for header in found}) == 300
    assert not list(tmp_path.glob("*damaged*"))
