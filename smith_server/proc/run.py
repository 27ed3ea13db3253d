"""Running commands so that none outlives its session: one call, start to end, with what it wrote.

A command that is left in the background by its shell lives on until `Processes.end_all`.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal

from msgspec import Struct

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import ToolRefusal
from smith_server.proc.child import Child, TakeBytes
from smith_server.proc.ending import end
from smith_server.proc.environment import environment
from smith_server.proc.guard import Guard
from smith_server.proc.living import Process, living
from smith_server.proc.looking import Lookout
from smith_server.proc.output import Kept, Output

CANCEL_GRACE = 0.5
LIMIT_GRACE = 2.0
KILL_GRACE = 5.0
"""Seconds between TERM and KILL: on a cancel, at a limit, and when a job is to be ended."""

Ended = Literal["itself", "limit", "cancel", "kill"]


class Command(Struct, frozen=True):
    """What to run. `limit` is in seconds, None for none; `keep` is how many bytes of output are kept."""

    argv: tuple[str, ...]
    cwd: Path
    limit: float | None = None
    keep: int = 262_144


class Outcome(Struct, frozen=True):
    """How a command ended: by itself, at its limit, because it was cancelled, or because somebody ended it.

    `signal` names the signal that ended the process ("KILL"), `exit_code` is None then. `left` are
    its processes that are alive: left in the background, or out of our reach after a forced end.
    """

    ended: Ended
    exit_code: int | None
    signal: str
    output: Output
    left: tuple[Process, ...] = ()


class Processes:
    """All that one session runs. `hidden` names variables whose values no child may see."""

    def __init__(self, guard: Guard, hidden: Collection[str] = ()) -> None:
        self._guard = guard
        self._hidden = frozenset(hidden)
        self._mark = guard.new_mark()
        self._started = 0
        self._running: set[Child] = set()
        self._left: set[Child] = set()
        self.lookout = Lookout(guard)
        """For programs of ours that only look."""

    def start(self, command: Command, take: TakeBytes) -> "Running":
        """Start `command`, whose output goes to `take`, raw, as it comes. Raises `ToolRefusal` when that fails.

        Whoever starts it has to `let_go` of it.
        """
        self._started += 1
        mark = f"{self._mark}{self._started}."
        return Running(self._start(command, mark, take), mark, self._let_go)

    async def run(self, command: Command, token: CancelToken, take: TakeBytes | None = None) -> Outcome:
        """Run `command` until its process ends; `take` gets the output as it comes, raw.

        When the task is cancelled because of `token`, the command is ended and what it did so far is
        the answer; any other cancellation ends it as well and goes on up. Raises `ToolRefusal` when
        it cannot be started.
        """
        kept = Kept(command.keep)
        running = self.start(command, _both(kept.feed, take))
        try:
            return await _finished(running, command, kept)
        except asyncio.CancelledError:
            left = await running.end(CANCEL_GRACE)
            if not token.requested:
                raise
            return running.outcome("cancel", kept.output(), left)
        finally:
            running.let_go()

    async def end_all(self, grace: float = CANCEL_GRACE) -> tuple[Process, ...]:
        """End everything that was started here, what was left in the background too; who is left after that."""
        if not self._started:
            return ()
        groups = {child.group for child in self._running | self._left if not child.vacant}
        return await end(groups, self._mark, grace)

    async def close(self) -> tuple[Process, ...]:
        """The end of the session: `end_all`, and nothing of ours stays open."""
        left = await self.end_all()
        for child in self._left:
            self._guard.forget(child.group)
            child.close()
        self._left.clear()
        return left

    def _start(self, command: Command, mark: str, take: TakeBytes) -> Child:
        env = environment(os.environ, self._hidden, command.cwd, mark)
        try:
            self._guard.ready()
            child = Child(command.argv, command.cwd, env, take)
        except (OSError, ValueError) as problem:
            raise _refusal(command, problem) from problem
        self._guard.add(child.group)
        self._running.add(child)
        return child

    def _let_go(self, child: Child) -> None:
        self._running.discard(child)
        self._left.add(child)
        child.let_go(lambda: self._settle(child))

    def _settle(self, child: Child) -> None:
        if child.vacant:
            self._guard.forget(child.group)
        if child.over:
            self._left.discard(child)


class Running:
    """A command between its start and the moment when nobody looks after it any more."""

    def __init__(self, child: Child, mark: str, let_go: Callable[[Child], None]) -> None:
        self._child = child
        self._mark = mark
        self._let_go = let_go

    async def exited(self) -> None:
        """Wait until the process itself has ended."""
        await self._child.exited.wait()

    async def rest(self) -> tuple[Process, ...]:
        """Take the last words of one that has ended; which of its processes live on."""
        await self._child.rest()
        return () if self._child.over else living({self._child.group}, self._mark)

    async def end(self, grace: float) -> tuple[Process, ...]:
        """End it and all it started, take what it has written; who is left after that."""
        left = await end({self._child.group}, self._mark, grace)
        if self._child.group not in {each.pid for each in left}:
            await self._child.exited.wait()
        self._child.take_rest()
        return left

    def let_go(self) -> None:
        """Its output is wanted no more. What it left in the background lives on until the session ends."""
        self._let_go(self._child)

    def outcome(self, ended: Ended, output: Output, left: tuple[Process, ...]) -> Outcome:
        """How it ended, once it has."""
        status = self._child.status
        if status is None or status >= 0:
            return Outcome(ended, status, "", output, left)
        return Outcome(ended, None, _signal_name(-status), output, left)


async def _finished(running: Running, command: Command, kept: Kept) -> Outcome:
    try:
        async with asyncio.timeout(command.limit):
            await running.exited()
    except TimeoutError:
        left = await running.end(LIMIT_GRACE)
        return running.outcome("limit", kept.output(), left)
    left = await running.rest()
    return running.outcome("itself", kept.output(), left)


def _both(first: TakeBytes, second: TakeBytes | None) -> TakeBytes:
    if second is None:
        return first
    other = second

    def take(piece: bytes) -> None:
        first(piece)
        other(piece)

    return take


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:  # a real-time signal
        return str(number)


def _refusal(command: Command, problem: OSError | ValueError) -> ToolRefusal:
    if not command.cwd.is_dir():
        return ToolRefusal("no_directory", f"The folder {command.cwd} does not exist (any more). Nothing was run.")
    reason = problem.strerror if isinstance(problem, OSError) else str(problem)
    return ToolRefusal("not_started", f"{command.argv[0]} could not be started: {reason}. Nothing was run.")
