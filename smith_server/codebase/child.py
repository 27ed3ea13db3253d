"""One process that takes files apart, and the place where one that has nothing to do waits for the next question."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from smith_server.codebase.worker import FAILED, TOOK_TOO_LONG, Parsed, Work, read_frame, sent, write_frame

_PACKAGE = str(Path(__file__).resolve().parents[2])
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from smith_server.codebase.worker import main; main()"
_LIMITS = (-signal.SIGPROF, -signal.SIGALRM)


class Child:
    """A started process. It ends with its input, thus with this process, however that ends."""

    def __init__(self) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
        # Without what `site` does, which takes as long as everything else; with our path instead.
        path = dict.fromkeys([_PACKAGE, *(entry for entry in sys.path if entry.startswith("/"))])
        self._process = subprocess.Popen(
            (sys.executable, "-I", "-S", "-c", _CODE, *path),
            cwd="/",
            env={**kept, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def answers(self, works: Sequence[Work]) -> Iterator[Parsed]:
        """An answer for each of `works` in turn; fewer when the process ends before. Blocking."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            write_frame(process.stdin, sent(works))
            for _ in works:
                body = read_frame(process.stdout)
                if not body:
                    return
                yield msgspec.msgpack.decode(body, type=Parsed)

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End it now. From any thread."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> str:
        """End it and wait for that; why it gave no answer, if it did not. Blocking, for a moment."""
        process = self._process
        for pipe in (process.stdout, process.stdin):
            if pipe is not None:
                with suppress(OSError):  # what was not written yet has nobody to read it
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)  # one that ended by itself tells why
        self.kill()
        return TOOK_TOO_LONG if process.wait() in _LIMITS else FAILED


class Spare:
    """Keeps one process for the next question, for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._end: asyncio.TimerHandle | None = None

    def take(self) -> Child:
        """The one that waits, else a new one. From any thread; blocking."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None and child.lives:
            return child
        if child is not None:
            child.close()
        return Child()

    def put(self, child: Child) -> None:
        """Let it wait; where one waits already this one ends. From any thread."""
        with self._lock:
            if self._child is None:
                self._child = child
                return
        child.kill()
        child.close()

    def count_down(self) -> None:
        """From now on `seconds`. On the event loop."""
        if self._end is not None:
            self._end.cancel()
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(self._seconds, lambda: loop.run_in_executor(None, self.close))

    def close(self) -> None:
        """End the one that waits."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.close()
