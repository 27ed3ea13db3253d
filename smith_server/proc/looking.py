"""Running a program that only looks: an argument list, raw output in pieces, a limit, an end for certain.

Unlike a command of the model it gets a few variables of ours only, and its output is taken as it comes.
"""

import asyncio
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.proc.guard import Guard

_PIECE = 1 << 18
_MOST_ERRORS = 8192
_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")

Take = Callable[[bytes], bool]


class Looking(Struct, frozen=True):
    """What to run. `seconds` is the limit; `variables` come on top of the few that are passed on."""

    argv: tuple[str, ...]
    cwd: Path
    seconds: float
    input: bytes = b""
    variables: Mapping[str, str] = {}


class Looked(Struct, frozen=True):
    """How it ended: by itself, at the limit, or because enough was taken. `code` is negative for a signal."""

    ended: Literal["itself", "limit", "enough"]
    code: int
    errors: bytes


class Lookout:
    """Runs programs that look; with a `guard` they end with this process, however it ends."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard

    async def run(self, looking: Looking, take: Take) -> Looked:
        """Run it in a thread; `take` gets each piece there and answers whether it wants more.

        Whatever ends the wait ends the program. Raises `ToolRefusal` `not_started`.
        """
        process = await asyncio.to_thread(self._start, looking)
        work = asyncio.ensure_future(asyncio.to_thread(_drain, process, looking, take))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            _kill(process)
            await asyncio.wait([work])
            raise
        finally:
            if self._guard is not None:
                self._guard.forget(process.pid)

    def _start(self, looking: Looking) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        try:
            if self._guard is not None:
                self._guard.ready()
            process = subprocess.Popen(
                looking.argv,
                cwd=looking.cwd,
                env={**kept, "LC_ALL": "C.UTF-8", **looking.variables},
                stdin=subprocess.PIPE if looking.input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            name = Path(looking.argv[0]).name
            raise ToolRefusal("not_started", f"{name} could not be started: {reason}. Nothing was run.") from problem
        if self._guard is not None:
            self._guard.add(process.pid)
        return process


def _drain(process: subprocess.Popen[bytes], looking: Looking, take: Take) -> Looked:
    """Move bytes until all pipes are closed, the limit is reached or enough was taken; then reap it."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors = bytearray()
    pipes = selectors.DefaultSelector()
    feed = _Feed(process.stdin, looking.input)
    pipes.register(process.stdout, selectors.EVENT_READ, take)
    pipes.register(process.stderr, selectors.EVENT_READ, lambda piece: _keep(errors, piece))
    if process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
        pipes.register(process.stdin, selectors.EVENT_WRITE, feed)
    try:
        ended = _pump(pipes, time.monotonic() + looking.seconds)
    finally:
        if process.poll() is None and (pipes.get_map() or not _ends_soon(process)):
            _kill(process)
        process.wait()
        pipes.close()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    return Looked(ended, process.returncode, bytes(errors))


class _Feed:
    """What is left of the input; called when the pipe can take some."""

    def __init__(self, pipe: IO[bytes] | None, data: bytes) -> None:
        self._pipe = pipe
        self._left = memoryview(data)

    def __call__(self, _: bytes) -> bool:
        assert self._pipe is not None
        try:
            self._left = self._left[os.write(self._pipe.fileno(), self._left[:_PIECE]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return bool(self._left)


def _pump(pipes: selectors.BaseSelector, deadline: float) -> Literal["itself", "limit", "enough"]:
    while any(key.events & selectors.EVENT_READ for key in pipes.get_map().values()):
        left = deadline - time.monotonic()
        if left <= 0:
            return "limit"
        for key, events in pipes.select(left):
            reads = bool(events & selectors.EVENT_READ)
            piece = os.read(key.fd, _PIECE) if reads else b""
            wants_more = key.data(piece) if piece or not reads else True
            if reads and not wants_more:
                return "enough"
            if (reads and not piece) or not wants_more:
                _close(pipes, key)
    return "itself"


def _close(pipes: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pipes.unregister(key.fileobj)
    if key.events & selectors.EVENT_WRITE and hasattr(key.fileobj, "close"):
        key.fileobj.close()


def _keep(errors: bytearray, piece: bytes) -> bool:
    errors += piece[: _MOST_ERRORS - len(errors)]
    return True


def _ends_soon(process: subprocess.Popen[bytes]) -> bool:
    """Whether one that has closed its pipes is about to be over."""
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
