import os
from pathlib import Path

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.store import lease
from smith_server.store.holder import Holder, this_process
from smith_server.store.lease import Lease
from smith_server.store.opening import Place, open_store
from tests.store.builders import GONE, TALK, rows, started
from tests.store.conftest import Start

ELSEWHERE = Holder("somewhere-else.invalid", 7, "x")


def test_a_free_lease_is_taken_and_given_back(connection: apsw.Connection) -> None:
    started(connection)
    taken = lease.take(connection, TALK, this_process(), "terminal", now=5.0)
    assert taken == Lease(TALK, this_process(), "terminal", taken.token, 5.0, 5.0)
    assert lease.held(connection, TALK) == taken
    lease.release(connection, taken)
    assert lease.held(connection, TALK) is None
    assert rows(connection, "lease") == []


def test_its_holder_gets_the_same_lease_again(connection: apsw.Connection) -> None:
    started(connection)
    first = lease.take(connection, TALK, this_process(), "terminal")
    assert lease.take(connection, TALK, this_process(), "terminal") == first


def test_the_lease_of_a_dead_process_of_this_machine_is_free_at_once(connection: apsw.Connection) -> None:
    started(connection)
    left = lease.take(connection, TALK, GONE, "Neovim")
    assert lease.held(connection, TALK) is None
    mine = lease.take(connection, TALK, this_process(), "terminal")
    assert mine.token != left.token
    lease.release(connection, left)
    assert lease.held(connection, TALK) == mine


def test_the_lease_of_another_machine_is_not_free(connection: apsw.Connection) -> None:
    started(connection)
    lease.take(connection, TALK, ELSEWHERE, "Emacs", now=5.0)
    with pytest.raises(AgentFailure) as raised:
        lease.take(connection, TALK, this_process(), "terminal")
    error = raised.value.error
    assert (error.kind, error.code, error.retryable) == ("persistence", "held", False)
    assert error.data == {
        "conversation": TALK,
        "host": ELSEWHERE.host,
        "pid": 7,
        "start": "x",
        "face": "Emacs",
        "taken": 5.0,
    }
    assert "Emacs" in error.message and "process 7" in error.message


def test_a_lease_can_be_taken_after_its_process_was_killed(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    connection = open_store(Place(path)).connection
    started(connection)
    other = start("hold_lease", path)
    assert other.stdout is not None
    pid = int(other.stdout.readline())
    with pytest.raises(AgentFailure) as raised:
        lease.take(connection, TALK, this_process(), "terminal")
    assert (raised.value.error.data["pid"], raised.value.error.data["face"]) == (pid, "Neovim")
    other.kill()
    other.wait()
    assert lease.take(connection, TALK, this_process(), "terminal").holder.pid == os.getpid()


def test_two_conversations_have_two_leases(connection: apsw.Connection) -> None:
    started(connection, "one")
    started(connection, "two")
    lease.take(connection, "one", ELSEWHERE, "Emacs")
    assert lease.take(connection, "two", this_process(), "terminal").conversation == "two"
