"""The output of a job on disk, in a file that never grows beyond its limit, in a folder that never outlives us.

The first half of a file holds the begin of the output, the second one its end, round and round.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
from pathlib import Path

from smith_server.proc.output import Kept, Piece

_PREFIX = "run-"


class Log:
    """Goes on where `kept` has come to. What a full disk does not take is a gap."""

    def __init__(self, path: Path, limit: int, kept: Kept) -> None:
        """Raises `OSError` when the file cannot be made."""
        self.path = path
        self._room = max(limit // 2, 1)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._stored = 0
        self._begin = 0
        self.size = 0
        self._take_over(kept)

    def feed(self, piece: bytes) -> None:
        """Add `piece` at the end; what a full disk does not take counts as written."""
        if self.size == self._stored:
            with contextlib.suppress(OSError):
                self._store(piece)
        self.size += len(piece)

    def read(self, since: int, most: int) -> Piece:
        """As `Kept.read`."""
        head = min(self._room, self._stored)
        if since < head:
            return Piece(since, os.pread(self._file, min(most, head - since), since))
        start = max(since, self._begin, self._stored - self._room)
        if start >= self._stored:
            return Piece(self.size, b"")
        place = self._place(start)
        length = min(most, self._stored - start, 2 * self._room - place)
        return Piece(start, os.pread(self._file, length, place))

    def remove(self) -> None:
        """The end of it."""
        os.close(self._file)
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _take_over(self, kept: Kept) -> None:
        self.feed(kept.read(0, kept.size).data)
        tail = kept.read(self.size, kept.size)
        if tail.start > self.size == self._stored:
            self._begin = self._stored = self.size = tail.start
        self.feed(tail.data)
        self.size = kept.size

    def _store(self, piece: bytes) -> None:
        for data in (piece[: max(self._room - self._stored, 0)], piece[max(self._room - self._stored, 0) :]):
            skipped = max(len(data) - self._room, 0)
            start, data = self._stored + skipped, data[skipped:]
            until_the_end = 2 * self._room - self._place(start) if start >= self._room else len(data)
            _write(self._file, data[:until_the_end], self._place(start))
            _write(self._file, data[until_the_end:], self._room)
            self._stored = start + len(data)

    def _place(self, offset: int) -> int:
        return offset if offset < self._room else self._room + (offset - self._room) % self._room


class LogFolder:
    """Where one process keeps its logs, below `root`; made with the first one."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._own: Path | None = None
        self._lock = -1

    def place(self, name: str) -> Path:
        """Where the log `name` goes. Raises `OSError` when there is no place."""
        if self._own is None:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            self._own = self._root / f"{_PREFIX}{secrets.token_hex(8)}"
            self._own.mkdir(mode=0o700)
            self._lock = _locked(self._own)
        return self._own / f"{name}.log"

    def close(self) -> None:
        """Remove all of ours."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._own = None

    def _sweep(self) -> None:
        """Remove what was left by processes that were killed: nobody holds the lock of their folder."""
        for folder in self._root.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                lock = _locked(folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int:
    """A descriptor that holds the lock of `folder`. Raises `OSError` when somebody else has it."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _write(file: int, data: bytes, place: int) -> None:
    while data:
        written = os.pwrite(file, data, place)
        data, place = data[written:], place + written
