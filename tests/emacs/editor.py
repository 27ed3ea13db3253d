"""A real Emacs on a terminal of its own, driven by keys, and looked into through a socket."""

import fcntl
import json
import os
import pty
import socket
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.emacs import lisp

REMOTE = Path(__file__).with_name("remote.el")
PATIENCE = 20.0


def quoted(text: str | Path) -> str:
    """`text` as a string of Lisp."""
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Emacs:
    """One editor and what a person does with it."""

    def __init__(self, folder: Path, command: Sequence[str | Path], environ: Mapping[str, str], package: Path) -> None:
        """In `folder`, with the Lisp in `package` and `command` for the server."""
        listener = socket.socket(socket.AF_UNIX)
        place = folder.parent / "emacs.socket"
        listener.bind(str(place))
        listener.listen()
        listener.settimeout(PATIENCE)
        self._terminal, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self._process = subprocess.Popen(
            [lisp.find_emacs(), "-Q", "-nw", *lisp.QUIET, "-L", package, "-l", "smith", "-l", REMOTE],
            cwd=folder,
            env={**environ, "TERM": "xterm", "SMITH_TEST_SOCKET": str(place)},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            preexec_fn=own_terminal,
        )
        os.close(terminal)
        self._screen = threading.Thread(target=self._read_screen, daemon=True)
        self._screen.start()
        self._wire, _ = listener.accept()
        listener.close()
        self._wire.settimeout(PATIENCE)
        self._answers = self._wire.makefile("rb")
        words = " ".join(quoted(word) for word in command)
        self.lisp(f"(setq smith-command (list {words}))")

    @property
    def pid(self) -> int:
        return self._process.pid

    def children(self) -> list[int]:
        """The processes that this Emacs has started."""
        return [int(child) for child in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._answers.close()
        self._wire.close()
        self._screen.join()
        os.close(self._terminal)

    def _read_screen(self) -> None:
        try:
            while os.read(self._terminal, 65536):
                pass
        except OSError:
            return

    def lisp(self, form: str) -> Any:
        """The value of `form`, evaluated in the buffer that is looked at."""
        self._wire.sendall(form.replace("\n", " ").encode() + b"\n")
        answer = json.loads(self._answers.readline())
        assert "problem" not in answer, (form, answer["problem"])
        return answer["value"]

    def keys(self, keys: str) -> None:
        """Types `keys`; control and meta keys as the bytes that a terminal sends."""
        os.write(self._terminal, keys.encode())

    def edit(self, path: Path) -> None:
        self.lisp(f"(switch-to-buffer (find-file-noselect {quoted(path)}))")

    def start(self) -> None:
        """Starts the server for the project of the current buffer."""
        self.lisp("(ignore (smith-start))")

    def is_ready(self) -> bool:
        return bool(self.lisp("(and (smith-rpc-connections) t)"))

    def text(self) -> str:
        """The document in the buffer that is looked at."""
        value: str = self.lisp("(or (smith-text-read) (list))")
        return value

    def type(self, text: str) -> None:
        """Puts text at point as a command of its own would."""
        self.lisp(f"(insert {quoted(text)})")


def own_terminal() -> None:
    """Lets a new process have its standard input as its terminal."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
