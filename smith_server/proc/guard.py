"""A small `sh` beside us that outlives us: when we die, even by KILL, it ends what we had started.

It reads the groups that are alive from a pipe whose only other end is ours, lives in a session of
its own, so that no key in a terminal reaches it, and holds no other descriptor.
"""

import contextlib
import itertools
import os
import secrets
import subprocess
from pathlib import Path

_SYSTEM_PATH = "/usr/bin:/bin"


class Guard:
    """One for the whole server; costs nothing until the first `ready`."""

    def __init__(self) -> None:
        self._mark = f"{secrets.token_hex(8)}."
        self._marks = itertools.count(1)
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    @property
    def groups(self) -> frozenset[int]:
        """What it would end if we died now."""
        return frozenset(self._groups)

    def ready(self) -> None:
        """Start the guard, or another one when somebody has ended it. Raises `OSError`."""
        if self._process is None or self._process.poll() is not None:
            self._start()

    def new_mark(self) -> str:
        """A text for `environment.MARKER` to begin with; whatever carries it is ended when we die."""
        return f"{self._mark}{next(self._marks)}."

    def add(self, group: int) -> None:
        """The group is ours from now on."""
        self._groups.add(group)
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """The group is empty: its number may soon be somebody else's."""
        if group in self._groups:
            self._groups.discard(group)
            self._tell(f"- {group}\n")

    def close(self) -> None:
        """Dismiss the guard. Groups that are left it ends on its own, nobody waits for that."""
        process, self._process = self._process, None
        if process is None:
            return
        if not self._groups:
            process.kill()
        self._hang_up()
        if not self._groups:
            process.wait()

    def _tell(self, line: str) -> None:
        try:
            os.write(self._pipe, line.encode())
        except OSError:  # it was killed, or stopped for so long that the pipe is full
            self._start()

    def _start(self) -> None:
        """A new guard that knows all our groups. The old one dies first: it must not see the pipe end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._hang_up()
        theirs, self._pipe = os.pipe()
        try:
            self._process = _spawn(theirs, self._mark)
        finally:
            os.close(theirs)
        os.set_blocking(self._pipe, False)
        os.write(self._pipe, "".join(f"+ {group}\n" for group in self._groups).encode())

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._pipe)
        self._pipe = -1


def _spawn(stdin: int, mark: str) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_suffix(".sh").read_text(encoding="utf-8")
    return subprocess.Popen(
        ["/bin/sh", "-c", script, "smith-guard", mark],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": f"{_SYSTEM_PATH}:{os.environ.get('PATH', '')}", "LC_ALL": "C"},
        start_new_session=True,
    )
