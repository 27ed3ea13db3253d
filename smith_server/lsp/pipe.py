"""The process's own standard streams: kept for the protocol, away from everybody else.

`claim` has to run before any other import can print. Afterwards descriptor 1 is the error stream
and descriptor 0 is empty, for Python, for C code and for children alike.
"""

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Callable


def claim() -> tuple[int, int]:
    """Take standard input and output for the protocol; the descriptors of both, not inherited by children."""
    inward, outward = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout = sys.stderr
    return inward, outward


class OutPipe:
    """Writes frames from a thread of its own, so that a client that does not read never blocks the loop."""

    def __init__(self, descriptor: int, on_broken: Callable[[], object]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._queue: deque[bytes] = deque()
        self._wake = threading.Condition()
        self._open = True
        self._writing = 0
        self._backlog = 0
        self._thread = threading.Thread(target=self._run, name="stdout", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """Bytes that wait to be read by the client."""
        return self._backlog

    def write(self, data: bytes) -> None:
        """Queue a frame; dropped when the pipe is broken or closed."""
        with self._wake:
            if self._open:
                self._queue.append(data)
                self._backlog += len(data)
                self._wake.notify()

    def close(self, seconds: float = 1.0) -> None:
        """Write what waits, for `seconds` at most, and end."""
        with self._wake:
            self._open = False
            self._wake.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or not self._open)
                if not self._queue:
                    return
                data = b"".join(self._queue)
                self._queue.clear()
            try:
                _write_all(self._descriptor, data)
            except OSError:
                self._break()
                return
            with self._wake:
                self._backlog -= len(data)

    def _break(self) -> None:
        with self._wake:
            self._open = False
            self._queue.clear()
        self._on_broken()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:65536]) :]


def read_pipe(descriptor: int, loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None]) -> None:
    """Hand everything that comes on `descriptor` to `take` on the loop, an empty value at the end.

    The loop itself waits for pipes, sockets and terminals; of what it cannot wait for, as files, a thread reads.
    """

    def ready() -> None:
        data = _some(descriptor)
        if not data:
            loop.remove_reader(descriptor)
        take(data)

    try:
        loop.add_reader(descriptor, ready)
    except OSError:
        _read_by_thread(descriptor, loop, take)


def _read_by_thread(descriptor: int, loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None]) -> None:
    def run() -> None:
        data = b"-"
        while data:
            data = _some(descriptor)
            try:
                loop.call_soon_threadsafe(take, data)
            except RuntimeError:
                return

    threading.Thread(target=run, name="stdin", daemon=True).start()


def _some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
