"""A person at a terminal: a real pseudo-terminal around the real command."""

import re
import signal
import sys
from types import TracebackType
from typing import Self

import pexpect

from tests.e2e.world import World

SECONDS = 20


class Terminal:
    """`smith WORDS` on a terminal, in plain lines. `shown` is all that it has printed."""

    def __init__(self, world: World, *words: str, **variables: str) -> None:
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "smith_server", *words, "--no-tui"],
            env={**world.environ, **variables},
            cwd=str(world.root),
            encoding="utf-8",
            codec_errors="replace",
            timeout=SECONDS,
            dimensions=(40, 160),
            echo=False,
        )
        self._child.delaybeforesend = None
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    def sees(self, text: str) -> str:
        """Wait for `text`; what came before it."""
        self._child.expect_exact(text)
        before = str(self._child.before)
        self.shown += before + text
        return before

    def prompted(self) -> str:
        """Wait for the prompt."""
        return self.sees("\r\n> ")

    def types(self, line: str) -> None:
        self._child.sendline(line)

    def presses(self, key: str) -> None:
        self._child.sendcontrol(key)

    def sends(self, data: bytes) -> None:
        self._child.send(data.decode("latin-1"))

    def hangs_up(self) -> None:
        self._child.kill(signal.SIGHUP)

    def code(self) -> int:
        """Wait for the end; the exit code."""
        self._child.expect(pexpect.EOF)
        self.shown += str(self._child.before)
        self._child.wait()
        assert "Traceback" not in self.shown
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", self.shown)
        return int(self._child.exitstatus if self._child.exitstatus is not None else -self._child.signalstatus)
