"""Which process holds something, and whether it still lives."""

import os
import subprocess
from pathlib import Path

from msgspec import Struct

_HIDDEN = "?"
"""Start of a process that lives but may not be looked at."""


class Holder(Struct, frozen=True):
    """A process: name of its machine, its number, and when it began in the machine's own words.

    The number alone says little, as numbers are given out again.
    """

    host: str
    pid: int
    start: str


def this_process() -> Holder:
    """The identity of the running process."""
    return Holder(os.uname().nodename, os.getpid(), _start_of(os.getpid()))


def is_living(holder: Holder) -> bool:
    """Whether that process still runs. One of another machine counts as living: nobody here can tell."""
    if holder.host != os.uname().nodename:
        return True
    if not _exists(holder.pid):
        return False
    start = _start_of(holder.pid)
    return start in (_HIDDEN, holder.start)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start_of(pid: int) -> str:
    """When a process began; "" for one that ended and only waits to be collected."""
    if Path("/proc/self/stat").exists():
        return _start_in_proc(pid)
    return _start_by_ps(pid)


def _start_in_proc(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except FileNotFoundError:
        return _HIDDEN if _exists(pid) else ""
    except ProcessLookupError:
        return ""
    # The name in front of the last parenthesis may hold anything.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def _start_by_ps(pid: int) -> str:
    told = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    return "" if not told or told[0].startswith("Z") else " ".join(told[1:])
