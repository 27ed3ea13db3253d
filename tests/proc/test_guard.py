import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smith_server.proc.guard import Guard
from tests.proc.scene import Server, alive, start, unique_seconds, until

COMMANDS = {
    "runs": "echo ready; sleep {s}",
    "in the background": "sleep {s} >/dev/null 2>&1 & echo ready; wait",
    "of a call that is over": "sleep {s} & sleep {s} >/dev/null 2>&1 & echo ready",
    "ignores TERM": "trap '' TERM; echo ready; while :; do sleep 1; done # {s}",
    "ignores everything": "trap '' TERM HUP INT QUIT PIPE; echo ready; while :; do echo; sleep 0.1; done # {s}",
    "stopped": "(sleep 0.1; echo ready) & kill -STOP $$; sleep {s}",
    "writes without end": "echo ready; yes {s}",
}
if sys.platform == "linux":
    COMMANDS |= {
        "left the group": "setsid sleep {s} >/dev/null 2>&1 & echo ready",
        "left the group, ignores TERM": "setsid bash -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done #{s}' &",
        "left the group twice": "( setsid sh -c 'echo ready; sleep {s} & exec sleep {s}' & )",
    }
SCRIPT = Path(__file__).resolve().parents[2] / "smith_server" / "proc" / "guard.sh"


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS.keys())
async def test_a_server_that_is_killed_takes_its_commands_along(text: str) -> None:
    seconds = unique_seconds()
    server = Server(text.format(s=seconds))
    assert await until(lambda: alive(seconds))
    began = time.monotonic()

    server.kill()

    assert await until(lambda: not alive(seconds) and not alive(server.guard))
    assert time.monotonic() - began < 5


async def test_a_killed_server_with_many_commands_leaves_none() -> None:
    seconds = unique_seconds()
    server = Server(*(text.format(s=seconds) for text in COMMANDS.values()))

    server.kill()

    assert await until(lambda: not alive(seconds) and not alive(server.guard))


INTERRUPTED = """
import fcntl, os, signal, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted\\n"))
"""


async def test_a_key_in_the_terminal_does_not_reach_the_guard() -> None:
    seconds = unique_seconds()
    ours, terminal = pty.openpty()
    server = Server(f"trap '' INT; echo ready; sleep {seconds}", before=INTERRUPTED, stdin=terminal)

    os.write(ours, b"\x03")
    assert server.line() == "interrupted"
    assert len(alive(server.guard)) == 1
    server.kill()

    assert await until(lambda: not alive(seconds) and not alive(server.guard))
    os.close(ours)
    os.close(terminal)


async def test_the_guard_does_not_stay_when_there_is_nothing_to_guard() -> None:
    server = Server("echo ready")
    assert alive(server.guard)

    server.kill()

    assert await until(lambda: not alive(server.guard), within=1)


async def test_a_guard_that_was_killed_is_replaced_by_one_that_knows_as_much(tmp_path: Path) -> None:
    seconds, flag = unique_seconds(), tmp_path / "flag"
    server = Server(f"sleep {seconds} & echo ready", f"echo ready; until [ -e {flag} ]; do sleep 0.02; done")
    (first,) = alive(server.guard)

    os.kill(first, signal.SIGKILL)
    flag.touch()

    assert await until(lambda: alive(server.guard) not in ([], [first]))
    server.kill()
    assert await until(lambda: not alive(seconds) and not alive(server.guard))


async def test_a_guard_that_does_not_read_is_replaced() -> None:
    guard = Guard()
    mark = f"smith-guard {guard.new_mark().partition('.')[0]}"
    guard.ready()
    (first,) = alive(mark)
    os.kill(first, signal.SIGSTOP)
    stranger = start("sleep", "1000")

    for _ in range(20_000):
        guard.add(stranger.pid)
        guard.forget(stranger.pid)

    (second,) = alive(mark)
    assert second != first
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
    guard.close()
    assert alive(mark) == []


@pytest.fixture(params=["/bin/sh", "/bin/bash"])
def script(request: pytest.FixtureRequest) -> "subprocess.Popen[str]":
    argv = [request.param, "-c", SCRIPT.read_text(), "smith-guard", "no-such-mark."]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, text=True, start_new_session=True)


def test_groups_that_were_forgotten_are_left_alone(script: "subprocess.Popen[str]") -> None:
    groups = [start("sleep", "1000") for _ in range(4)]
    said = [f"+ {each.pid}" for each in groups] + [f"- {groups[0].pid}", f"- {groups[2].pid}", "- 1", "+ 99999999"]

    script.communicate("\n".join(said) + "\n", timeout=5)

    assert [groups[1].wait(1), groups[3].wait(1)] == [-signal.SIGTERM, -signal.SIGTERM]
    assert [groups[0].poll(), groups[2].poll()] == [None, None]
    for each in groups:
        each.kill()
        each.wait()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_a_guard_is_deaf_to_everything_but_the_end_of_its_server(
    script: "subprocess.Popen[str]", number: signal.Signals
) -> None:
    group = start("sleep", "1000")
    assert script.stdin is not None
    more_than_a_pipe_holds = "- 1\n" * 30_000  # so that it is reading when the last of it is written
    script.stdin.write(f"+ {group.pid}\n{more_than_a_pipe_holds}")
    script.stdin.flush()

    script.send_signal(number)
    script.communicate(timeout=5)

    assert (script.returncode, group.wait(1)) == (0, -signal.SIGTERM)
