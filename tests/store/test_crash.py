from pathlib import Path

import pytest

from smith_server.store import lease, turns
from smith_server.store.holder import this_process
from smith_server.store.opening import Place, open_store
from smith_server.store.repair import repair
from tests.store.builders import (
    TALK,
    batches_of_turn,
    everything,
    is_index_as_rebuilt,
    replayed,
    rows,
    said,
    started,
    stored,
)
from tests.store.conftest import Start

TURNS = 400
ONE_TURN = len(batches_of_turn(1))


def killed_after(start: Start, path: Path, commits: int) -> int:
    """Kill a writing process when it has told of so many commits; how many it had told of by then."""
    process = start("write_turns", path, str(TURNS))
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    for _ in range(commits):
        process.stdout.readline()
    process.kill()
    whole = process.stdout.read().rpartition("\n")[0].split()
    process.wait()
    return int(whole[-1]) if whole else commits


def expected(commits: int) -> dict[str, list[object]]:
    connection = open_store(Place(None)).connection
    started(connection)
    batches = [batch for number in range(1, commits // ONE_TURN + 2) for batch in batches_of_turn(number)]
    stored(connection, batches[:commits])
    return everything(connection)


@pytest.mark.parametrize("commits", [0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 14, 58, 263, 1501])
def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path, start: Start, commits: int) -> None:
    path = tmp_path / "smith.db"
    told = killed_after(start, path, commits)
    opened = open_store(Place(path))
    connection = opened.connection
    assert opened.warnings == ()
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    assert rows(connection, "pragma_foreign_key_check") == []
    assert is_index_as_rebuilt(connection)
    found = everything(connection)
    assert found in (expected(told), expected(told + 1))
    streamed = [text for (text,) in rows(connection, "piece", "text") if text != "let me think"]
    left = repair(connection, TALK)
    assert len(left) == len([row for row in found["turn"] if row[3] == "open"])
    conversation = replayed(connection)
    assert conversation.open_calls() == ()
    assert "".join(streamed) in said(conversation)
    mine = lease.take(connection, TALK, this_process(), "terminal")
    stored(connection, batches_of_turn(turns.next_turn(connection, TALK), this_process()))
    replayed(connection)
    lease.release(connection, mine)
    connection.close()
