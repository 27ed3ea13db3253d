"""Shared memory by name: the pixels of a frame on their way to the terminal, which removes what it has read.

A name holds the process that made it, so that what a killed one has left can be told from what is in use.
"""

import _posixshmem
import mmap
import os
import re
import secrets
from collections import deque
from contextlib import suppress
from pathlib import Path

PREFIX = "/smith-"
"""Of all our names; macOS takes at most 30 characters."""

_KEPT = 2
_FOLDER = Path("/dev/shm")
_NAME = re.compile(r"smith-(\d+)-\w+")


class Frames:
    """The objects of this process. The terminal gets time for the last ones; older ones are gone by then."""

    def __init__(self) -> None:
        self._names: deque[str] = deque()

    def put(self, pixels: bytes) -> str:
        """A new object with these bytes; its name. Raises `OSError`."""
        while len(self._names) >= _KEPT:
            unlink(self._names.popleft())
        name = create(pixels)
        self._names.append(name)
        return name

    def clear(self) -> None:
        """Remove all that is left."""
        while self._names:
            unlink(self._names[0])
            self._names.popleft()


def create(data: bytes) -> str:
    """A new object that only this user may read; its name. Raises `OSError`."""
    name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(5)}"
    number = _posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    try:
        os.ftruncate(number, len(data))
        with mmap.mmap(number, len(data)) as memory:
            memory[:] = data
    except (OSError, ValueError):
        unlink(name)
        raise
    finally:
        os.close(number)
    return name


def unlink(name: str) -> None:
    """Remove an object; that the terminal has done so already is the usual case."""
    with suppress(OSError):
        _posixshmem.shm_unlink(name)


def sweep(folder: Path = _FOLDER) -> None:
    """Remove what processes have left that do not live any more, where the system lists such objects."""
    with suppress(OSError):
        for path in folder.iterdir():
            found = _NAME.fullmatch(path.name)
            if found and not _lives(int(found[1])):
                with suppress(OSError):
                    path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
