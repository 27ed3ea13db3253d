"""One running process with a group of its own and one pipe for all that it writes."""

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from smith_server.proc.living import group_alive

PIECE = 64 * 1024
"""Bytes taken from the pipe at once, and in one step of the event loop."""

_QUIET = 0.05
_LONGEST_REST = 0.3
_LOOK_AGAIN = 0.2
_LONGEST_LOOK_AGAIN = 5.0
_PIECES_PER_LOOK = 16

TakeBytes = Callable[[bytes], None]


class Child:
    """A started process. Its number is also the number of its group.

    Its input is empty, it has no terminal, it holds none of our descriptors. `exited` is set when
    the process itself has ended, whoever else still holds the pipe.
    """

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], take: TakeBytes) -> None:
        """Start it; `take` gets all it writes, in pieces of at most `PIECE`. Raises `OSError` and `ValueError`."""
        self._loop = asyncio.get_running_loop()
        self._pipe, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(theirs)
        self.group = self._process.pid
        self.exited = asyncio.Event()
        self._vacant = False
        self._take = take
        self._news = asyncio.Event()
        os.set_blocking(self._pipe, False)
        self._next_look: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._pipe, self._read)
        self._watch()

    @property
    def status(self) -> int | None:
        """Exit code, or minus the number of the signal that ended it."""
        return self._process.returncode

    @property
    def vacant(self) -> bool:
        """Nobody is left in the group. Once that was so its number may be somebody else's."""
        self._vacant = self._vacant or not group_alive(self.group)
        return self._vacant

    @property
    def over(self) -> bool:
        """Nobody is left in the group and nobody holds the pipe."""
        return self._pipe < 0 and self.vacant

    async def rest(self) -> None:
        """What was written before the end and is still in the pipe.

        A pipe that somebody else holds gets a moment, for the last words of a helper like `tee`.
        """
        deadline = time.monotonic() + _LONGEST_REST
        while self._pipe >= 0 and time.monotonic() < deadline:
            self._news.clear()
            try:
                async with asyncio.timeout(_QUIET):
                    await self._news.wait()
            except TimeoutError:
                return

    def take_rest(self) -> None:
        """`rest` without waiting, for one that was ended by force."""
        for _ in range(_PIECES_PER_LOOK):
            if not self._read():
                return

    def let_go(self, look: Callable[[], None]) -> None:
        """Nobody wants the output any more; `look` is called now and then until the child is `over`.

        Until then the pipe is emptied at a walking pace: a server left in the background must not
        die of a closed pipe, and one that writes without end must not cost us a processor.
        """
        self._take = _nowhere
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
        self._look(look, _LOOK_AGAIN)

    def close(self) -> None:
        """Give up the pipe, and look after it no longer."""
        if self._next_look is not None:
            self._next_look.cancel()
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
            self._news.set()

    def _look(self, look: Callable[[], None], pause: float) -> None:
        self.take_rest()
        look()
        if self.over:
            return
        after = _LOOK_AGAIN if self._pipe >= 0 else min(2 * pause, _LONGEST_LOOK_AGAIN)
        self._next_look = self._loop.call_later(pause, self._look, look, after)

    def _read(self) -> bool:
        """Take one piece; whether there may be more at once."""
        if self._pipe < 0:
            return False
        try:
            piece = os.read(self._pipe, PIECE)
        except BlockingIOError:
            return False
        if piece:
            self._take(piece)
        else:
            self.close()
        self._news.set()
        return bool(piece)

    def _watch(self) -> None:
        try:
            threading.Thread(target=self._wait, name=f"wait {self.group}", daemon=True).start()
        except RuntimeError as problem:  # the system has no thread for us: an unwatched child must not run
            os.killpg(self.group, signal.SIGKILL)
            self._process.wait()
            self.close()
            raise OSError(errno.EAGAIN, str(problem)) from problem

    def _wait(self) -> None:
        self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop was closed before us
            self._loop.call_soon_threadsafe(self.exited.set)


def _nowhere(_: bytes) -> None:
    """Bytes that nobody wants."""
