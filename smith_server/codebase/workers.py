"""Many files taken apart by as many processes as there are processors; each file's answer goes to one callback."""

import asyncio
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from smith_server.codebase.child import Child, Spare
from smith_server.codebase.worker import Parsed, Work

SECONDS = 120.0
IDLE = 30.0
"""Seconds that one process is kept for the next question: to start one takes longer than most files."""

_CHUNK = 16

Answer = Callable[[str, Parsed], None]


class Workers:
    """Takes apart the files of one question after another. `count` processes, by default one per processor."""

    def __init__(self, count: int = 0, seconds: float = SECONDS, idle: float = IDLE) -> None:
        self._count = count or _processors()
        self._seconds = seconds
        self._spare = Spare(idle)
        weakref.finalize(self, self._spare.close)

    async def parse(self, works: Sequence[Work], answer: Answer) -> int:
        """Call `answer` (in threads) for each file that was taken apart; how many were not, at the limit of time.

        A file that ends the process, or takes it too long, is answered by the look of its lines.
        """
        chunks = deque([list(works[at : at + _CHUNK]) for at in range(0, len(works), _CHUNK)])
        done = [0]
        lock = threading.Lock()

        def told(path: str, parsed: Parsed) -> None:
            with lock:
                done[0] += 1
                answer(path, parsed)

        deadline = time.monotonic() + self._seconds
        runs = [_Run(chunks, told, deadline, self._spare) for _ in range(min(self._count, len(chunks)))]
        work = [asyncio.ensure_future(asyncio.to_thread(run.work)) for run in runs]
        try:
            await asyncio.shield(asyncio.gather(*work))
        except asyncio.CancelledError:
            for run in runs:
                run.stop()
            await asyncio.wait(work)
            raise
        finally:
            self._spare.count_down()
        return len(works) - done[0]

    def close(self) -> None:
        """End the process that waits for another question. Blocking, for a moment."""
        self._spare.close()


class _Run:
    """One thread with one process after another: a new one when the last was ended by a file."""

    def __init__(self, chunks: deque[list[Work]], answer: Answer, deadline: float, spare: Spare) -> None:
        self._chunks = chunks
        self._answer = answer
        self._deadline = deadline
        self._spare = spare
        self._child: Child | None = None
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
            self._leave()

    def stop(self) -> None:
        """End it now; its thread then ends too."""
        self._stopped = True
        child = self._child
        if child is not None:
            child.kill()

    def _chunk(self, works: list[Work]) -> None:
        while works and not self._stopped:
            child = self._living()
            for parsed in child.answers(tuple(works)):
                self._answer(works.pop(0).path, parsed)
            if works and not self._stopped:
                self._child = None
                self._given_up(works, child.close())

    def _given_up(self, works: list[Work], why: str) -> None:
        """The first of `works` ended the process: once more without a grammar, and then no more."""
        first = works[0]
        if first.plainly:
            self._answer(works.pop(0).path, Parsed(b"", None, why))
        else:
            works[0] = msgspec.structs.replace(first, plainly=True)

    def _living(self) -> Child:
        if self._child is None:
            self._child = self._spare.take()
            if self._stopped:
                self._child.kill()
        return self._child

    def _leave(self) -> None:
        """The process waits for the next question, unless this one was broken off."""
        child, self._child = self._child, None
        if child is None:
            return
        if self._chunks or self._stopped or not child.lives:
            child.kill()
            child.close()
        else:
            self._spare.put(child)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
