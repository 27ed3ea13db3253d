"""The session in a real tmux: it reflows what was printed when its size changes, as terminals do."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.e2e.world import World

SECONDS = 20.0


class Tmux:
    """A server of its own with one window; its shell shows the exit code and waits."""

    def __init__(self, world: World, folder: Path, *words: str, columns: int = 80, rows: int = 24) -> None:
        self._socket = str(folder / "tmux.sock")
        self._log = folder / "tmux.out"
        command = f"{sys.executable} -m smith_server {' '.join(words)}; echo CODE $?; stty -a; exec cat"
        self._environ = {**world.environ, "TERM": "xterm-256color"}
        self._tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(world.root), command)
        self._tmux("pipe-pane", f"cat >> {self._log}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")

    @property
    def raw(self) -> bytes:
        """What was written to the terminal."""
        return self._log.read_bytes() if self._log.exists() else b""

    @property
    def text(self) -> str:
        """All rows, with those scrolled away."""
        return "\n".join(line.rstrip() for line in self._tmux("capture-pane", "-p", "-S", "-").splitlines())

    @property
    def screen(self) -> list[str]:
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").splitlines()]

    def until(self, what: str, holds: Callable[[], Any]) -> None:
        limit = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < limit, f"never: {what}\n{self.text}"
            time.sleep(0.02)

    def sees(self, text: str) -> None:
        self.until(f"{text!r} on the screen", lambda: text in self.text)

    def ready(self) -> None:
        self.until("an empty input line", lambda: "❯" in self.screen)

    def types(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def presses(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def sends(self, text: str) -> None:
        self.types(text)
        self.sees(f"❯ {text}")
        self.presses("Enter")

    def pastes(self, text: str) -> None:
        self._tmux("load-buffer", "-", stdin=text)
        self._tmux("paste-buffer", "-p")

    def resizes(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def _tmux(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-f", os.devnull, *words],
            input=stdin,
            env=self._environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
