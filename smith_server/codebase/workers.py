"""Many files taken apart by as many processes as there are processors; each file's answer goes to one callback."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from smith_server.codebase.worker import Parsed, read_frame, write_frame

SECONDS = 120.0
_CHUNK = 16
_PACKAGE = str(Path(__file__).resolve().parents[2])
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from smith_server.codebase.worker import main; main()"

Answer = Callable[[str, Parsed], None]


class Workers:
    """Takes apart the files of one question. `count` processes, by default one per processor."""

    def __init__(self, count: int = 0, seconds: float = SECONDS) -> None:
        self._count = count or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._seconds = seconds

    async def parse(self, paths: Sequence[str], answer: Answer) -> int:
        """Call `answer` (in threads) for each path that was taken apart; how many were not, at the limit of time.

        A file that ends the process is answered as one without definitions.
        """
        chunks = deque([list(paths[at : at + _CHUNK]) for at in range(0, len(paths), _CHUNK)])
        done = [0]
        lock = threading.Lock()

        def told(path: str, parsed: Parsed) -> None:
            with lock:
                done[0] += 1
                answer(path, parsed)

        runs = [_Run(chunks, told, time.monotonic() + self._seconds) for _ in range(min(self._count, len(chunks)))]
        work = [asyncio.ensure_future(asyncio.to_thread(run.work)) for run in runs]
        try:
            await asyncio.shield(asyncio.gather(*work))
        except asyncio.CancelledError:
            for run in runs:
                run.stop()
            await asyncio.wait(work)
            raise
        return len(paths) - done[0]


class _Run:
    """One thread with one process after another: a new one when the last was ended by a file."""

    def __init__(self, chunks: deque[list[str]], answer: Answer, deadline: float) -> None:
        self._chunks = chunks
        self._answer = answer
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def work(self) -> None:
        timer = threading.Timer(max(self._deadline - time.monotonic(), 0), self.stop)
        timer.start()
        try:
            while self._chunks and not self._stopped:
                self._chunk(self._chunks.popleft())
        except IndexError:  # another thread took the last one
            pass
        finally:
            timer.cancel()
            self.stop()
            self._close()

    def stop(self) -> None:
        """End it now; its thread then ends too."""
        self._stopped = True
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()

    def _chunk(self, paths: list[str]) -> None:
        while paths and not self._stopped:
            process = self._living()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                write_frame(process.stdin, msgspec.msgpack.encode([os.fsencode(path) for path in paths]))
                while paths and (body := read_frame(process.stdout)):
                    self._answer(paths.pop(0), msgspec.msgpack.decode(body, type=Parsed))
            except OSError:
                pass
            if paths and not self._stopped:
                self._answer(paths.pop(0), Parsed(b"", None, "could not be taken apart"))
                process.kill()
                self._close()

    def _living(self) -> subprocess.Popen[bytes]:
        if self._process is None:
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
            if self._stopped:
                self._process.kill()
        return self._process

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not written yet has nobody to read it
                    pipe.close()
