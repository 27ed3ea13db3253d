"""Where a measurement runs: a folder of its own, the commands to start there, processes that all end."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from msgspec import Struct

REPO = Path(__file__).resolve().parents[2]
FLOORS = Path(__file__).with_name("floors")
_SCRIPT = """\
import sys
from smith_server.cli.main import main
if __name__ == "__main__":
    sys.exit(main())
"""
_SETTINGS = """\
[llm_config]
api_url = "{url}"
model = "bench"
"""


class Ended(Struct, frozen=True):
    """A process from start to end: nanoseconds of both, exit code, what it wrote on standard output."""

    began: int
    ended: int
    code: int
    output: bytes


class Place:
    """A home with settings, a project, and the command `smith` as pip would write it."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self.project = folder / "project"
        (self.project / ".git").mkdir(parents=True)
        self._script = folder / "smith"
        self._script.write_text(_SCRIPT)
        self._environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONPATH": f"{REPO}:{REPO / 'tools'}",
        }
        self._groups: set[int] = set()
        self.newest = 0
        """The number of the process that was started last."""
        self.home("home")

    def home(self, name: str) -> Path:
        """A place for settings and store by name, made when it is new."""
        home = self._folder / name
        if not home.exists():
            home.mkdir()
            (home / "config.toml").write_text(_SETTINGS.format(url=self._url))
        return home

    def file(self, name: str) -> Path:
        """A path of the measurement's own."""
        return self._folder / name

    def smith(self, *words: str) -> list[str]:
        """A command line of the program."""
        return [sys.executable, str(self._script), *words]

    def floor(self, name: str, *words: str) -> list[str]:
        """A command line of a floor."""
        return [sys.executable, str(FLOORS / f"{name}.py"), *words]

    def environ(self, home: str = "home") -> dict[str, str]:
        """The variables of a process that uses a home."""
        return {**self._environ, "SMITH_HOME": str(self.home(home))}

    async def run(self, command: Sequence[str], home: str = "home", seconds: float = 120.0) -> Ended:
        """Run a command to its end. Raises `RuntimeError` when it fails."""
        began = time.monotonic_ns()
        process = await self._start(command, home)
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate()
        ended = time.monotonic_ns()
        self._groups.discard(process.pid)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {errors.decode()[-2000:]}")
        return Ended(began, ended, 0, output)

    async def _start(self, command: Sequence[str], home: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environ(home),
            cwd=self.project,
            start_new_session=True,
        )
        self.own(process.pid)
        return process

    def own(self, group: int) -> None:
        """Have a process group ended with the measurement."""
        self._groups.add(group)
        self.newest = group

    def end(self, group: int) -> None:
        """End a process group now."""
        self._groups.discard(group)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def close(self) -> None:
        """End whatever still runs."""
        for group in list(self._groups):
            self.end(group)


@contextlib.asynccontextmanager
async def place(url: str) -> AsyncIterator[Place]:
    """A place that is gone afterwards, with everything in it."""
    with tempfile.TemporaryDirectory(prefix="smith-bench-", ignore_cleanup_errors=True) as folder:
        made = Place(Path(folder), url)
        try:
            yield made
        finally:
            made.close()
