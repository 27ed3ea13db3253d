"""The Emacs of the demo and of the pictures plays its first scene by itself."""

import fcntl
import os
import pty
import runpy
import struct
import subprocess
import termios
import threading
from pathlib import Path

import pytest

from tests.e2e.neovim import until
from tests.e2e.world import REPOSITORY
from tests.emacs import lisp
from tests.emacs.editor import own_terminal

pytestmark = pytest.mark.emacs

DEMO = REPOSITORY / "tools" / "demo"


def test_the_first_scene_is_on_the_screen_when_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DEMO))
    command = runpy.run_path(str(DEMO / "emacs.py"))["command"]
    ready = tmp_path / "ready"
    words, variables = command(lisp.find_emacs(), tmp_path, ready)
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def read() -> None:
        try:
            while os.read(outer, 65536):
                pass
        except OSError:
            return

    environ = {**variables, "PYTHONPATH": str(REPOSITORY), "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        words, env=environ, stdin=inner, stdout=inner, stderr=inner, cwd=tmp_path, preexec_fn=own_terminal
    )
    os.close(inner)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        until(ready.exists)
        assert "CURRENCY" not in (tmp_path / "shop" / "prices.py").read_text()
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(outer)
