"""A terminal session in a terminal of its own: the keys a person would press, and what was written.

With `visible` it is passed on to this terminal, whose answers and keys go back.
"""

import contextlib
import fcntl
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from neovim import NotSeen, wait

_CONTROLS = re.compile(rb"\x1b_[^\x1b]*\x1b\\|\x1b\[[\d;?]*[A-Za-z]|\x1b[78]|\x1b\(.")
# The new terminal is that of the program only when the program asks for it.
_OWN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


class TerminalSession:
    """One program on a terminal; its arguments begin with the path of the program."""

    def __init__(self, command: Sequence[str], folder: Path, variables: Mapping[str, str], visible: bool) -> None:
        self.visible = visible
        self.raw = b""
        self._master, slave = os.openpty()
        columns, rows = shutil.get_terminal_size((100, 30))
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OWN, *command],
            cwd=folder,
            env=variables if visible else {**variables, "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._relay = threading.Thread(target=self._pass_on, daemon=True)
        self._relay.start()

    def keys(self, text: str) -> None:
        """Type; at the pace of a person when somebody watches."""
        for character in text:
            os.write(self._master, character.encode())
            if self.visible:
                time.sleep(0.04)

    @property
    def text(self) -> str:
        """All that was written, without what steers the terminal."""
        return _CONTROLS.sub(b"", self.raw).decode("utf-8", "replace")

    @property
    def has_rained(self) -> bool:
        """Whether pictures were sent."""
        return b"\x1b_Ga=T," in self.raw

    def wait_for(self, text: str, seconds: float = 20.0) -> None:
        """Wait until `text` was written. Raises `NotSeen`."""
        try:
            wait(f"the terminal shows {text!r}", lambda: text in self.text, seconds)
        except NotSeen as problem:
            raise NotSeen(f"{problem}. It was:\n{self.text}") from None

    def code(self) -> int:
        """Wait for the end; the exit code. Raises `NotSeen` when it does not come."""
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            raise NotSeen("the session did not end within 10 s") from None
        self._relay.join(5)
        return code

    def close(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._relay.join(5)
        os.close(self._master)

    def _pass_on(self) -> None:
        with _raw(0) if self.visible else contextlib.nullcontext():
            while self._process.poll() is None or select.select([self._master], [], [], 0)[0]:
                if not self._pass_once():
                    return

    def _pass_once(self) -> bool:
        """Whatever comes from either side within a moment; whether there may be more."""
        ready = select.select([self._master, *([0] if self.visible else [])], [], [], 0.1)[0]
        if 0 in ready:
            os.write(self._master, os.read(0, 4096))
        if self._master in ready:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:
                return False
            self.raw += data
            if self.visible:
                os.write(1, data)
        return True


@contextlib.contextmanager
def _raw(number: int) -> Iterator[None]:
    modes = termios.tcgetattr(number)
    tty.setraw(number)
    try:
        yield
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, modes)
