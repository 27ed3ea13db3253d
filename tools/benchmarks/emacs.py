"""An Emacs on a terminal of its own, looked into through a socket."""

import asyncio
import fcntl
import os
import pty
import shutil
import struct
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.place import REPO, Place

PACKAGE = REPO / "editors" / "emacs"
_LOOK = Path(__file__).with_name("emacs.el")
_QUIET = ("--eval", "(setq native-comp-deferred-compilation nil)")


def find() -> str | None:
    """The Emacs on the path."""
    return shutil.which("emacs")


def text(words: str) -> str:
    """`words` as a string of Lisp."""
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'


async def compiled(place: Place) -> Path:
    """The package, byte-compiled as it is for a person who installed it."""
    folder = place.file("emacs")
    if not folder.exists():
        shutil.copytree(PACKAGE, folder)
        files = [str(path) for path in sorted(folder.glob("*.el"))]
        await place.run(
            [find() or "emacs", "-Q", "--batch", *_QUIET, "-L", str(folder), "-f", "batch-byte-compile", *files]
        )
    return folder


class Emacs:
    """One editor. `seen` is when a buffer got what was expected, in nanoseconds of the monotonic clock."""

    def __init__(self, place: Place) -> None:
        self.seen: asyncio.Future[int]
        self._writer: asyncio.StreamWriter
        self._listener: asyncio.Server
        self._process: asyncio.subprocess.Process
        self._terminal: int
        self._folder: tempfile.TemporaryDirectory[str]
        self._place = place
        self._answers: asyncio.Queue[str] = asyncio.Queue()
        self._offset = time.monotonic_ns() - time.time_ns()

    @classmethod
    async def start(cls, place: Place, name: str, arguments: Sequence[str]) -> "Emacs":
        """An editor without anybody's configuration, in the project."""
        made, connected = cls(place), asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            made._writer = writer
            connected.set()
            while line := await reader.readline():
                made._take(line.decode().rstrip("\n"))

        # The name of a socket has to be short, which that of the place may not be.
        made._folder = tempfile.TemporaryDirectory(prefix="smith-")
        address = Path(made._folder.name) / f"{name}.socket"
        made._listener = await asyncio.start_unix_server(accept, address)
        made._terminal, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        made._process = await asyncio.create_subprocess_exec(
            *(find() or "emacs", "-Q", "-nw", *_QUIET, *arguments, "-l", str(_LOOK)),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**place.environ(), "TERM": "xterm", "SMITH_BENCH_SOCKET": str(address)},
            cwd=place.project,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(terminal)
        place.own(made._process.pid)
        asyncio.get_running_loop().add_reader(made._terminal, made._drop)
        async with asyncio.timeout(30):
            await connected.wait()
        return made

    async def lisp(self, form: str) -> str:
        """The value of `form` as Lisp prints it. Raises `RuntimeError` with what Emacs says."""
        self._writer.write(form.encode() + b"\n")
        answer = await asyncio.wait_for(self._answers.get(), 30)
        if answer.startswith("(problem"):
            raise RuntimeError(f"{form}: {answer}")
        return answer

    async def expect(self, words: str) -> None:
        """Note when these words are at the end of what is shown."""
        self.seen = asyncio.get_running_loop().create_future()
        await self.lisp(f"(setq bench-awaited {text(words)})")

    async def close(self) -> None:
        """End the editor and all that it started."""
        asyncio.get_running_loop().remove_reader(self._terminal)
        self._place.end(self._process.pid)
        await self._process.wait()
        self._listener.close()
        self._folder.cleanup()
        os.close(self._terminal)

    def _take(self, line: str) -> None:
        if line.startswith("seen "):
            self.seen.set_result(int(line[5:]) + self._offset)
        else:
            self._answers.put_nowait(line)

    def _drop(self) -> None:
        os.read(self._terminal, 65536)
