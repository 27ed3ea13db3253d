import os
from pathlib import Path

import apsw
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.store import conversations, lease, turns
from smith_server.store.holder import Holder, this_process
from smith_server.store.lease import Lease
from smith_server.store.opening import Place, open_store
from smith_server.store.repair import repair
from smith_server.store.writes import CloseTurn, OpenTurn
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


def opened(connection: apsw.Connection, holder: Holder) -> None:
    turns.apply(connection, [OpenTurn(TALK, "t000001", "go", holder)])


def refused(connection: apsw.Connection, **now: float) -> str:
    with pytest.raises(AgentFailure) as raised:
        lease.take_over(connection, TALK, this_process(), "terminal", **now)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "held")
    assert raised.value.error.data["face"] == "Emacs"
    return raised.value.error.message


def test_a_free_lease_and_that_of_a_dead_process_are_taken_over(connection: apsw.Connection) -> None:
    started(connection)
    first = lease.take_over(connection, TALK, GONE, "Emacs", now=5.0)
    opened(connection, GONE)
    mine = lease.take_over(connection, TALK, this_process(), "terminal", now=6.0)
    assert mine == Lease(TALK, this_process(), "terminal", mine.token, 6.0, 6.0)
    assert mine.token != first.token
    assert lease.take_over(connection, TALK, this_process(), "terminal") == mine


def test_a_conversation_in_which_no_turn_runs_is_taken_over_from_a_living_process(connection: apsw.Connection) -> None:
    started(connection)
    theirs = lease.take(connection, TALK, ELSEWHERE, "Emacs", now=5.0)
    opened(connection, ELSEWHERE)
    assert "A turn runs there" in refused(connection, now=6.0)
    assert lease.held(connection, TALK) == theirs
    turns.apply(connection, [CloseTurn(TALK, "t000001", "completed")])
    assert lease.take_over(connection, TALK, this_process(), "terminal", now=6.0).holder == this_process()
    with pytest.raises(AgentFailure) as raised:
        lease.require(connection, {TALK: theirs.token})
    assert raised.value.error.code == "lease_lost"


def test_a_turn_on_another_machine_counts_as_long_as_its_heart_beats(connection: apsw.Connection) -> None:
    started(connection)
    theirs = lease.take(connection, TALK, ELSEWHERE, "Emacs", now=0.0)
    opened(connection, ELSEWHERE)
    assert lease.beat(connection, [theirs], now=1000.0) == ()
    refused(connection, now=1000.0 + lease.STALE_SECONDS)
    mine = lease.take_over(connection, TALK, this_process(), "terminal", now=1001.0 + lease.STALE_SECONDS)
    assert lease.held(connection, TALK) == mine
    assert repair(connection, TALK) == ("t000001",)


def test_a_living_process_of_this_machine_needs_no_heartbeat(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    connection = open_store(Place(path)).connection
    started(connection)
    other = start("hold_turn", path)
    assert other.stdout is not None and other.stdout.readline() == "ready\n"
    refused(connection, now=1e12)
    assert repair(connection, TALK) == ()
    other.kill()
    other.wait()
    assert lease.take_over(connection, TALK, this_process(), "terminal").holder == this_process()
    assert repair(connection, TALK) == ("t000001",)


def test_a_heartbeat_tells_which_leases_somebody_else_has(connection: apsw.Connection) -> None:
    leases = []
    for name in ("one", "two", "three"):
        started(connection, name)
        leases.append(lease.take(connection, name, this_process(), "terminal", now=5.0))
    lease.take_over(connection, "two", ELSEWHERE, "Emacs", now=6.0)
    conversations.delete(connection, "three")
    assert lease.beat(connection, leases, now=9.0) == tuple(leases[1:])
    assert rows(connection, "lease", "conversation, taken, beat") == [("one", 5.0, 9.0), ("two", 6.0, 6.0)]
