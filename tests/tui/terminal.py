"""A person at a terminal that is drawn on: the real command on a pseudo-terminal, an emulator for its screen.

With `graphics` the terminal answers as one that shows pictures out of shared memory does.
"""

import base64
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte

from tests.e2e.world import World

SECONDS = 20.0
SHARED = Path("/dev/shm")
_GRAPHICS = re.compile(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\")
_ALTERNATE = re.compile(rb"(\x1b\[\?1049[hl])")
_DEVICE = b"\x1b[c"
# The new terminal is that of the program only when the program asks for it.
_OWN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
SMITH = (sys.executable, "-m", "smith_server")
KEYS = {"enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "alt-h": "\x1bh", "alt-i": "\x1bi"}
KEYS |= {f"ctrl-{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"}


class Terminal:
    """`smith WORDS`, or another `program`, in a terminal of `columns` by `rows`. `raw` is every byte it has written."""

    def __init__(
        self,
        world: World,
        *words: str,
        columns: int = 80,
        rows: int = 24,
        graphics: bool = False,
        program: tuple[str, ...] = SMITH,
        **variables: str,
    ) -> None:
        environ = {**world.environ, "TERM": "xterm-kitty" if graphics else "xterm-256color", **variables}
        self.raw = b""
        self.commands: list[dict[str, str]] = []
        self.pictures: list[tuple[str, bytes]] = []
        self._has_graphics = graphics
        self._is_ours = program is SMITH
        self._is_over = False
        self._emulated = 0
        self._screen = self._main = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.0001)
        self._lock = threading.Lock()
        self._master, slave = os.openpty()
        set_size(slave, columns, rows)
        self._modes = termios.tcgetattr(slave)
        self._child = subprocess.Popen(
            [sys.executable, "-c", _OWN, *program, *words],
            env=environ,
            cwd=world.root,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        self._slave = slave
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait()
        self._is_over = True
        self._reader.join(5)
        os.close(self._slave)
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def screen(self) -> list[str]:
        """The rows in sight, without blanks at their ends."""
        with self._lock:
            return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """All rows, those scrolled away first."""
        with self._lock:
            above = ["".join(row[x].data for x in range(self._screen.columns)) for row in self._screen.history.top]
            return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    @property
    def cursor(self) -> tuple[int, int]:
        with self._lock:
            return self._screen.cursor.y, self._screen.cursor.x

    def until(self, what: str, holds: Callable[[], Any], seconds: float = SECONDS) -> None:
        limit = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < limit, f"never: {what}\n{self.text}"
            time.sleep(0.01)

    def sees(self, text: str) -> None:
        self.until(f"{text!r} on the screen", lambda: text in self.text)

    def loses(self, text: str) -> None:
        self.until(f"{text!r} gone", lambda: text not in self.text)

    def ready(self) -> None:
        """Wait for an input line with nothing in it and nothing that goes on."""
        self.until("an empty input line", lambda: any(line == "❯" for line in self.screen) and not self.is_busy())

    def is_busy(self) -> bool:
        return any("Esc stops" in line for line in self.screen[-12:] if "Enter sends" not in line)

    def types(self, text: str) -> None:
        self._send(text)

    def presses(self, *keys: str) -> None:
        for key in keys:
            self._send(KEYS[key])

    def sends(self, text: str) -> None:
        """Type a line and send it."""
        self.types(text)
        self.until(f"{text!r} typed", lambda: text[-20:] in self.text)
        self.presses("enter")

    def pastes(self, text: str) -> None:
        self._send(f"\x1b[200~{text}\x1b[201~")

    def resizes(self, columns: int, rows: int) -> None:
        with self._lock:
            self._screen.resize(rows, columns)
        set_size(self._slave, columns, rows)
        self._child.send_signal(signal.SIGWINCH)

    def is_stopped(self) -> bool:
        """Whether it was suspended."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def signals(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def stops_reading(self) -> None:
        """From now on it takes no output."""
        self._is_over = True
        self._reader.join(5)

    def is_full(self) -> bool:
        """Whether it takes no more output."""
        return not select.select([], [self._slave], [], 0)[1]

    def closes(self) -> None:
        """Its window is closed."""
        self.stops_reading()
        os.close(self._slave)
        os.close(self._master)
        self._slave, self._master = os.openpty()

    def ends(self) -> int:
        """Wait for the end, whatever became of the terminal; the exit code."""
        return self._child.wait(SECONDS)

    def code(self) -> int:
        """Wait for the end; the exit code. Everything is as it was before."""
        try:
            code = self._child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end\n{self.text}") from None
        assert termios.tcgetattr(self._slave) == self._modes
        # What was written last may still be on its way to us.
        self.until("nothing more to read for a moment", lambda: all(self._is_read() for _ in range(4)))
        self.until("brackets around pastes off", lambda: self._is_off(b"2004"))
        self.until("the other screen left", lambda: self._is_off(b"1049"))
        assert not self._is_ours or b"\x1b[?25l" not in self.raw
        assert objects(self.pid) == []
        assert "Traceback" not in self.text
        return code

    def _is_read(self) -> bool:
        time.sleep(0.03)
        with self._lock:
            return not select.select([self._master], [], [], 0)[0]

    def _is_off(self, mode: bytes) -> bool:
        return self.raw.rfind(b"\x1b[?" + mode + b"h") <= self.raw.rfind(b"\x1b[?" + mode + b"l")

    def _send(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._master, data) :]

    def _read(self) -> None:
        while not self._is_over:
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            with self._lock:
                self.raw += os.read(self._master, 1 << 16)
                self._emulate()

    def _emulate(self) -> None:
        """Feed what is whole to the emulator; graphics are taken out and obeyed."""
        new = self.raw[self._emulated :]
        cut = new.rfind(b"\x1b_G")
        if cut >= 0 and b"\x1b\\" not in new[cut:]:
            new = new[:cut]
        elif new.endswith(b"\x1b"):
            new = new[:-1]
        self._emulated += len(new)
        for found in _GRAPHICS.finditer(new):
            self._graphics(found[1].decode(), found[2] or b"")
        if _DEVICE in new:
            self._send("\x1b[?62;c")
        for piece in _ALTERNATE.split(_GRAPHICS.sub(b"", new).replace(_DEVICE, b"")):
            self._show(piece)

    def _show(self, piece: bytes) -> None:
        """The emulator has one screen; a program may use two."""
        if piece == b"\x1b[?1049h":
            self._screen = pyte.HistoryScreen(self._main.columns, self._main.lines)
        elif piece == b"\x1b[?1049l":
            self._screen = self._main
        else:
            pyte.ByteStream(self._screen).feed(piece)

    def _graphics(self, keys: str, payload: bytes) -> None:
        command = dict(pair.split("=") for pair in keys.split(","))
        self.commands.append(command)
        if not self._has_graphics or command["a"] == "d":
            return
        path = SHARED / base64.b64decode(payload).decode().lstrip("/")
        try:
            data = path.read_bytes()
            path.unlink()
        except FileNotFoundError:
            return
        if command["a"] == "q":
            self._send(f"\x1b_Gi={command['i']};OK\x1b\\")
        else:
            self.pictures.append((command["i"], data))


def objects(pid: int) -> list[str]:
    """The shared memory that a process has left."""
    return [path.name for path in SHARED.glob(f"smith-{pid}-*")]


def set_size(number: int, columns: int, rows: int) -> None:
    """Cells of a terminal."""
    fcntl.ioctl(number, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
