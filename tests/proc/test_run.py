import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import ToolRefusal
from smith_server.proc.guard import Guard
from smith_server.proc.output import Output
from smith_server.proc.run import Command, Outcome, Processes
from tests.proc.scene import REPO, Cancellable, alive, left_behind, shell, unique_seconds, until

IN_GROUP = {
    "plain": "sleep {s} & echo hi",
    "plain, redirected": "sleep {s} >/dev/null 2>&1 & echo hi",
    "nohup": "nohup sleep {s} & echo hi",
    "nohup, redirected": "nohup sleep {s} >/dev/null 2>&1 & echo hi",
    "disown": "sleep {s} & disown; echo hi",
    "disown, redirected": "sleep {s} >/dev/null 2>&1 & disown; echo hi",
    "double fork": "( ( sleep {s} & ) & ); echo hi",
    "double fork, redirected": "( ( sleep {s} >/dev/null 2>&1 & ) & ); echo hi",
}
OUT_OF_GROUP = {
    "setsid": "setsid sleep {s} & echo hi",
    "setsid, redirected": "setsid sleep {s} >/dev/null 2>&1 & echo hi",
    "setsid and double fork": "( setsid sh -c 'sleep {s} & exec sleep {s}' & ); echo hi",
    "setsid, ignores TERM": "setsid bash -c 'trap \"\" TERM; while :; do sleep 1; done # {s}' & echo hi",
}
ON_LINUX = sys.platform == "linux"
BACKGROUND = IN_GROUP | (OUT_OF_GROUP if ON_LINUX else {})
AWAY = "setsid" if ON_LINUX else ""


async def run(processes: Processes, text: str, limit: float | None = None, keep: int = 262_144) -> Outcome:
    return await processes.run(shell(text, limit, keep), CancelToken())


def descriptors() -> list[Path]:
    return sorted(Path("/dev/fd").iterdir())


def zombies_of_ours() -> list[list[str]]:
    listed = subprocess.run(["ps", "-A", "-o", "ppid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [row for row in rows if row[0] == str(os.getpid()) and row[1].startswith("Z")]


@pytest.mark.parametrize("text", BACKGROUND.values(), ids=BACKGROUND.keys())
async def test_a_call_returns_when_its_shell_exits_and_the_session_takes_the_rest_along(
    processes: Processes, text: str
) -> None:
    seconds = unique_seconds()
    began = time.monotonic()

    outcome = await run(processes, text.format(s=seconds))

    assert time.monotonic() - began < 1
    assert (outcome.ended, outcome.exit_code, outcome.output.head) == ("itself", 0, "hi\n")
    assert await until(lambda: alive(seconds))
    assert await processes.close() == ()
    assert alive(seconds) == []


async def test_what_is_left_in_the_background_is_named(processes: Processes) -> None:
    seconds = unique_seconds()

    outcome = await run(processes, left_behind(seconds))

    assert [(each.pid, each.name) for each in outcome.left] == [(int(outcome.output.head), f"sleep {seconds}")]


async def test_a_server_in_the_background_may_go_on_writing(processes: Processes, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    await run(processes, f"(head -c 300000 /dev/zero; touch {proof}) & echo started")

    assert await until(proof.exists)


async def test_a_helper_that_outlives_the_shell_for_a_moment_is_heard(processes: Processes) -> None:
    outcome = await run(processes, "exec > >(sleep 0.01; cat); echo through a helper")

    assert outcome.output.head == "through a helper\n"


@pytest.mark.parametrize(
    ("text", "exit_code", "signal"),
    [
        ("true", 0, ""),
        ("exit 3", 3, ""),
        ("no-such-command-anywhere 2>/dev/null", 127, ""),
        ("kill -KILL $$", None, "KILL"),
        ("kill -SEGV $$", None, "SEGV"),
        ("kill -TERM $$", None, "TERM"),
    ],
    ids=["success", "code", "not found", "killed", "crashed", "terminated"],
)
async def test_how_a_command_ended_is_told(processes: Processes, text: str, exit_code: int | None, signal: str) -> None:
    outcome = await run(processes, text)

    assert outcome == Outcome("itself", exit_code, signal, Output(""))


async def test_output_and_errors_come_in_the_order_in_which_they_were_written(processes: Processes) -> None:
    outcome = await run(processes, "for i in $(seq 10000); do echo $i; echo $i >&2; done")

    assert outcome.output.head.split() == [str(number) for number in range(1, 10001) for _ in range(2)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cat; echo over", "over\n"),
        ("(cat </dev/tty) 2>/dev/null || echo no terminal", "no terminal\n"),
        ("(echo draw >/dev/tty) 2>/dev/null || echo no terminal", "no terminal\n"),
        ("read -s -p 'Password: ' word; echo \"$?\"", "1\n"),
        ("test -t 0 || test -t 1 || test -t 2 || echo none", "none\n"),
    ],
    ids=["reads input", "reads the terminal", "writes to the terminal", "asks a password", "looks for a terminal"],
)
async def test_nothing_waits_for_a_person(processes: Processes, text: str, said: str) -> None:
    outcome = await run(processes, text, limit=5)

    assert (outcome.ended, outcome.output.head) == ("itself", said)


async def test_no_descriptor_of_ours_is_inherited(processes: Processes) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)

    outcome = await run(processes, "for n in 3 4 5 6 7 8 9 $(seq 10 50); do (: <&$n) 2>/dev/null && echo $n; done")

    os.close(reader)
    os.close(writer)
    assert outcome.output.head == ""


async def test_hidden_variables_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-12345678")
    guard = Guard()
    session = Processes(guard, ["SOME_API_KEY"])

    outcome = await run(session, "env | grep -c sk-12345678")
    await session.close()
    guard.close()

    assert outcome.output.head == "0\n"


ENDED_BY_FORCE = {
    "obeys": "echo ready; sleep {s} & sleep {s}",
    "ignores TERM": "trap '' TERM; echo ready; while :; do sleep 1; done # {s}",
    "stopped": "(sleep 0.1; echo ready) & kill -STOP $$; sleep {s}",
    "grandchild ignores TERM": "bash -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done # {s}' & wait",
    "stopped and ignoring": "trap '' TERM; (echo ready; kill -STOP $$) & while :; do sleep 1; done # {s}",
    "writes without end": "echo ready; yes {s}",
    "stops others": "sleep {s} & kill -STOP $!; echo ready; wait",
}
if ON_LINUX:
    ENDED_BY_FORCE |= {
        "left the group": "setsid bash -c 'echo ready; sleep {s}' & wait",
        "left the group, ignores TERM": "setsid bash -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done # {s}' &"
        "wait",
    }


@pytest.mark.parametrize("text", ENDED_BY_FORCE.values(), ids=ENDED_BY_FORCE.keys())
async def test_a_cancelled_command_is_gone_within_a_second_with_all_it_started(processes: Processes, text: str) -> None:
    seconds = unique_seconds()
    running = Cancellable(processes, shell(text.format(s=seconds)))

    outcome, took = await running.cancel_when(b"ready")

    assert took < 1
    assert alive(seconds) == []
    assert (outcome.ended, outcome.left) == ("cancel", ())
    assert outcome.output.head.startswith("ready")


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("echo begun; sleep {s}", 0.0),
        ("trap 'echo cleaned up; exit 7' TERM; echo begun; sleep {s} & wait", 0.0),
        ("trap 'echo cleaned up; exit 7' TERM; echo begun; kill -STOP $$; sleep {s}", 0.0),
        ("trap '' TERM; echo begun; while :; do sleep 1; done # {s}", 2.0),
    ],
    ids=["obeys", "cleans up", "is stopped and cleans up", "ignores TERM"],
)
async def test_a_command_is_ended_at_its_limit_with_time_to_clean_up(
    processes: Processes, text: str, least: float
) -> None:
    seconds = unique_seconds()
    began = time.monotonic()

    outcome = await run(processes, text.format(s=seconds), limit=0.3)

    assert least <= time.monotonic() - began - 0.3 < least + 1
    assert alive(seconds) == []
    assert (outcome.ended, outcome.left) == ("limit", ())
    assert outcome.output.head == ("begun\ncleaned up\n" if "cleaned" in text else "begun\n")


async def test_a_cancel_while_the_limit_ends_a_command_is_as_quick_as_any(processes: Processes) -> None:
    seconds = unique_seconds()
    command = shell(f"trap 'echo asked' TERM; while :; do sleep 0.05; done # {seconds}", limit=0.2)

    outcome, took = await Cancellable(processes, command).cancel_when(b"asked")

    assert took < 1
    assert (outcome.ended, outcome.signal) == ("cancel", "KILL")
    assert alive(seconds) == []


async def test_a_cancellation_that_is_not_of_the_token_goes_on_up_and_leaves_nothing(processes: Processes) -> None:
    seconds = unique_seconds()
    task = asyncio.create_task(run(processes, f"sleep {seconds}"))
    assert await until(lambda: alive(seconds))

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(seconds) == []


async def test_a_second_cancellation_kills_at_once(processes: Processes) -> None:
    seconds = unique_seconds()
    asked = asyncio.Event()
    command = shell(f"trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done # {seconds}")
    task = asyncio.create_task(processes.run(command, CancelToken(), lambda _: asked.set()))
    await asked.wait()
    asked.clear()

    task.cancel()
    await asked.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await until(lambda: not alive(seconds), within=0.3)


FLOODS = {
    "yes": "yes",
    "random bytes": "cat /dev/urandom",
    "one huge line": "head -c 500000000 /dev/zero | tr '\\0' x",
    "left in the background": "yes & echo gone; sleep 0.5",
}
MEASURE = """
import asyncio, json, resource, sys
from tests.proc.scene import shell
from smith_server.core.cancel import CancelToken
from smith_server.proc.guard import Guard
from smith_server.proc.run import Processes

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

async def main():
    ticks = 0
    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1
    guard = Guard()
    processes = Processes(guard)
    ticking = asyncio.create_task(tick())
    await processes.run(shell("head -c 1000000 /dev/urandom"), CancelToken())
    before, ticks = peak(), 0
    outcome = await processes.run(shell(sys.argv[1], limit=1.0), CancelToken())
    output = outcome.output
    kept = len(output.head) + len(output.tail)
    print(json.dumps([peak() - before, ticks, kept, output.size, output.bytes_left_out]))
    ticking.cancel()
    await processes.close()
    guard.close()

asyncio.run(main())
"""


@pytest.mark.parametrize("text", FLOODS.values(), ids=FLOODS.keys())
def test_endless_output_costs_bounded_memory_and_starves_no_timer(text: str) -> None:
    measured = subprocess.run([sys.executable, "-c", MEASURE, text], cwd=REPO, capture_output=True, check=True)
    grown, ticks, kept, size, left_out = json.loads(measured.stdout)

    assert grown < 16 * 2**20
    assert ticks >= 10
    assert 0 < kept <= 262_144
    assert size > 10 * 262_144
    assert size - 262_144 <= left_out < size


async def test_fifty_commands_leave_no_descriptor_and_no_zombie(processes: Processes) -> None:
    await run(processes, "true")
    before = descriptors()

    for number in range(50):
        outcome = await run(processes, f"echo {number}; (true &)")
        assert outcome.output.head == f"{number}\n"

    assert await until(lambda: descriptors() == before)
    assert zombies_of_ours() == []


async def test_two_commands_run_side_by_side(processes: Processes) -> None:
    began = time.monotonic()

    one, two = await asyncio.gather(run(processes, "sleep 0.4; echo 1"), run(processes, "sleep 0.4; echo 2"))

    assert (one.output.head, two.output.head) == ("1\n", "2\n")
    assert time.monotonic() - began < 0.75


async def test_cancelling_one_command_leaves_the_other_alone(processes: Processes) -> None:
    other = asyncio.create_task(run(processes, "sleep 0.5; echo done"))

    await Cancellable(processes, shell("echo ready; sleep 100")).cancel_when(b"ready")

    assert (await other).output.head == "done\n"


async def test_the_end_of_one_session_leaves_the_other_alone(processes: Processes) -> None:
    guard = Guard()
    first, second = Processes(guard), Processes(guard)
    mine, theirs = unique_seconds(), unique_seconds()
    await run(first, f"sleep {mine} & {AWAY} sleep {mine} &")
    await run(second, f"sleep {theirs} & {AWAY} sleep {theirs} &")
    await until(lambda: len(alive(theirs)) == 2)

    await first.close()

    assert (alive(mine), len(alive(theirs))) == ([], 2)
    await second.close()
    guard.close()
    assert alive(theirs) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [("true", 0), (f"{AWAY} sleep {{s}} & exit", 0 if ON_LINUX else 1), ("sleep {s} & exit", 1)],
    ids=["all over", "the output is held by one that left the group", "somebody in the group"],
)
async def test_a_group_is_guarded_until_it_is_empty(text: str, kept: int) -> None:
    guard = Guard()
    session = Processes(guard)
    seconds = unique_seconds()

    await run(session, text.format(s=seconds))

    assert await until(lambda: len(guard.groups) == kept)
    assert bool(alive(seconds)) is ("sleep" in text)
    await session.close()
    assert (guard.groups, alive(seconds)) == (frozenset(), [])
    guard.close()


async def test_the_end_of_the_session_ends_what_is_running(processes: Processes) -> None:
    seconds = unique_seconds()
    task = asyncio.create_task(run(processes, f"sleep {seconds}"))
    assert await until(lambda: alive(seconds))

    assert await processes.end_all() == ()

    assert (await task).signal == "TERM"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (Command(("/bin/bash",), Path("/no/such/folder")), "no_directory", "does not exist"),
        (Command(("/no/such/program",), Path("/")), "not_started", "No such file"),
        (Command(("/bin/bash", "-c", "x" * 3_000_000), Path("/")), "not_started", "too long"),
        (Command(("/bin/bash", "-c", "a\0b"), Path("/")), "not_started", "null"),
        (Command(("/bin/bash", "-c", "\ud800"), Path("/")), "not_started", "surrogates"),
    ],
    ids=["no folder", "no program", "too long", "nul", "half a character"],
)
async def test_what_cannot_be_started_is_refused_with_the_reason(
    processes: Processes, command: Command, code: str, words: str
) -> None:
    await run(processes, "true")
    before = descriptors()

    with pytest.raises(ToolRefusal, match=words) as refused:
        await processes.run(command, CancelToken())

    assert refused.value.error.code == code
    assert descriptors() == before


async def test_without_a_free_descriptor_a_command_is_refused_and_the_next_one_runs(processes: Processes) -> None:
    await run(processes, "true")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        with pytest.raises(ToolRefusal, match="Too many open files"):
            await run(processes, "true")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert (await run(processes, "echo on")).output.head == "on\n"
