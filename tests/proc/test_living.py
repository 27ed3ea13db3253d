import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from smith_server.proc.living import Process, from_ps, group_alive, living
from tests.proc.scene import alive, start, unique_seconds, until

MARK = f"{os.getpid():016x}.1."


@pytest.fixture
def seconds() -> str:
    return unique_seconds()


@pytest.fixture
async def leader(seconds: str) -> "AsyncIterator[subprocess.Popen[bytes]]":
    env = {**os.environ, "SMITH_CALL": f"outer.1. {MARK}7."}
    text = f"sleep {seconds} & env -i sleep {seconds} & wait"
    process = start("/bin/bash", "-c", text, env=env)
    yield process
    os.killpg(process.pid, 9)
    process.wait()
    assert await until(lambda: not alive(seconds))


@pytest.mark.parametrize("by_ps", [False, True], ids=["as the system tells", "by ps"])
async def test_a_group_is_listed_whole(leader: "subprocess.Popen[bytes]", seconds: str, by_ps: bool) -> None:
    shell = f"/bin/bash -c sleep {seconds} & env -i sleep {seconds} & wait"[:80]
    names = sorted([shell, f"sleep {seconds}", f"sleep {seconds}"])

    def found() -> tuple[Process, ...]:
        return tuple(from_ps({leader.pid})) if by_ps else living({leader.pid}, "none")

    assert await until(lambda: sorted(each.name for each in found()) == names)
    assert {each.group for each in found()} == {leader.pid}
    assert Process(leader.pid, leader.pid, shell) in found()


async def test_ps_finds_a_child_that_made_a_group_of_its_own(seconds: str) -> None:
    program = "import os, sys, time; os.setsid(); os.execvp('sleep', ['sleep', sys.argv[1]])"
    text = f'"{sys.executable}" -c "{program}" {seconds} & wait'
    leader = start("/bin/bash", "-c", text)
    assert await until(lambda: any(each.name == f"sleep {seconds}" for each in from_ps({leader.pid})))

    (stray,) = (each for each in from_ps({leader.pid}) if each.group != leader.pid)

    assert stray.group == stray.pid
    os.killpg(stray.group, 9)
    assert leader.wait() == 0


def test_an_empty_group_and_a_mark_that_nobody_carries_find_nothing() -> None:
    gone = start("true")
    gone.wait()

    assert not group_alive(gone.pid)
    assert living({gone.pid}, "no such mark") == ()
    assert list(from_ps({gone.pid})) == []


def test_a_process_that_nobody_has_waited_for_is_not_alive() -> None:
    zombie = start("true")
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)

    assert living({zombie.pid}, "no such mark") == ()
    assert list(from_ps({zombie.pid})) == []
    zombie.wait()


if sys.platform == "linux":

    @pytest.mark.parametrize(
        ("mark", "count"),
        [(MARK, 2), (f"{MARK}7.", 2), (f"{MARK}8.", 0)],
        ids=["of the session", "of the call", "of another call"],
    )
    async def test_a_mark_finds_who_carries_it(
        leader: "subprocess.Popen[bytes]", seconds: str, mark: str, count: int
    ) -> None:
        assert await until(lambda: len(alive(f"sleep {seconds}")) == 3)

        assert await until(lambda: len(living((), mark)) == count)

    def test_a_mark_copied_into_another_variable_is_none(seconds: str) -> None:
        env = {**os.environ, "COPY": f"SMITH_CALL={MARK}7."}
        other = start("sleep", seconds, env=env)

        found = living((), MARK)
        other.kill()
        other.wait()

        assert found == ()
