"""One process at a time opens, makes or renames the store of a folder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smith_server.core.errors import failure

_PAUSE = 0.005


@contextmanager
def folder_lock(folder: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of `folder` itself, so that no lock file is left behind.

    Raises persistence/`locked` when another process keeps it for `seconds`. A file system without
    such locks does without.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        _acquire(handle, folder, time.monotonic() + seconds)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, folder: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                text = f"Another smith is opening the store in {folder} and does not get done. Try again."
                raise failure("persistence", "locked", text, file=str(folder)) from None
            time.sleep(_PAUSE)
        except OSError:
            return
        else:
            return
