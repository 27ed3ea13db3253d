"""Looking at real processes: who is alive, waiting for something to become true."""

import asyncio
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from smith_server.core.cancel import CancelToken
from smith_server.core.interrupt import interrupted_by
from smith_server.proc.run import Command, Outcome, Processes

REPO = Path(__file__).resolve().parents[2]
_numbers = itertools.count(1)


def unique_seconds() -> str:
    """An argument for `sleep` that no other process of the machine has."""
    return f"1000.{os.getpid():07d}{next(_numbers):05d}"


def alive(text: str) -> list[int]:
    """The processes with `text` in their command lines, zombies left out."""
    listed = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(row[0]) for row in rows if len(row) == 3 and not row[1].startswith("Z") and text in row[2]]


def start(*argv: str, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """A process that has nothing to do with any session, in a group of its own."""
    return subprocess.Popen(argv, env=env, start_new_session=True)


async def until(condition: Callable[[], object], within: float = 5.0) -> bool:
    """Whether `condition` became true in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


def shell(text: str, limit: float | None = None, keep: int = 262_144) -> Command:
    return Command(("/bin/bash", "-c", text), Path.cwd(), limit, keep)


def left_behind(seconds: str) -> str:
    """A command that leaves a `sleep` in the background, surely no copy of its shell any more, and says its pid."""
    started = "until [[ $(ps -o comm= -p $!) == *sleep ]]; do :; done"
    return f"sleep {seconds} >/dev/null 2>&1 & {started}; echo $!"


class Cancellable:
    """A command in the middle of its run, to be cancelled as a turn does it."""

    def __init__(self, processes: Processes, command: Command) -> None:
        self.token = CancelToken()
        self.seen = b""
        self._run = asyncio.create_task(self._start(processes, command))

    async def _start(self, processes: Processes, command: Command) -> Outcome:
        async with interrupted_by(self.token):
            return await processes.run(command, self.token, self._take)

    def _take(self, piece: bytes) -> None:
        self.seen = (self.seen + piece)[:1000]

    async def cancel_when(self, said: bytes) -> tuple[Outcome, float]:
        """Cancel it once it has said something; how it ended, and how many seconds that took."""
        assert await until(lambda: said in self.seen)
        began = time.monotonic()
        self.token.request()
        return await self._run, time.monotonic() - began


SERVER = """
import asyncio, sys
from pathlib import Path
from smith_server.core.cancel import CancelToken
from smith_server.proc.guard import Guard
from smith_server.proc.run import Command, Processes

def ready(piece):
    if b"ready" in piece:
        print("ready", flush=True)

async def main():
    guard = Guard()
    print(guard.new_mark().partition(".")[0], flush=True)
    processes = Processes(guard)
    commands = [Command(("/bin/bash", "-c", text), Path.cwd()) for text in sys.argv[1:]]
    await asyncio.gather(*(processes.run(each, CancelToken(), ready) for each in commands))
    await asyncio.Event().wait()

asyncio.run(main())
"""
"""A program that runs each of its arguments, says the mark of its guard and `ready` for each that did."""


class Server:
    """`SERVER` in a process of its own; `before` is code that it runs first, with `stdin` as its input."""

    def __init__(self, *commands: str, before: str = "", stdin: int = subprocess.DEVNULL) -> None:
        argv = [sys.executable, "-c", before + SERVER, *commands]
        self._process = subprocess.Popen(argv, cwd=REPO, stdin=stdin, stdout=subprocess.PIPE)
        self.guard = f"smith-guard {self.line()}"
        assert [self.line() for _ in commands] == ["ready"] * len(commands)

    @property
    def pid(self) -> int:
        return self._process.pid

    def line(self) -> str:
        """The next line it says."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def kill(self) -> None:
        """End it as nothing can prevent."""
        self._process.kill()
        self._process.communicate()
