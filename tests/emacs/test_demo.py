"""The Emacs of the demo and of the pictures plays its first scene by itself."""

import fcntl
import os
import pty
import runpy
import struct
import subprocess
import sys
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


def sized(words: list[str], environ: dict[str, str], folder: Path, rows: int, columns: int, done: Path) -> None:
    """Run an Emacs on a terminal of that size until the file `done` is there."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read() -> None:
        try:
            while os.read(outer, 65536):
                pass
        except OSError:
            return

    process = subprocess.Popen(
        words, env=environ, stdin=inner, stdout=inner, stderr=inner, cwd=folder, preexec_fn=own_terminal
    )
    os.close(inner)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        until(done.exists)
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(outer)


def when(condition: str, done: Path) -> list[str]:
    """What lets Emacs make `done` as soon as that is so while it waits for keys."""
    make = f'(write-region "" nil "{done}" nil (quote silent))'
    return ["--eval", f"(run-with-idle-timer 0.2 t (lambda () (when {condition} {make})))"]


def demo(folder: Path, monkeypatch: pytest.MonkeyPatch, ready: Path | None = None) -> tuple[list[str], dict[str, str]]:
    monkeypatch.syspath_prepend(str(DEMO))
    words, variables = runpy.run_path(str(DEMO / "emacs.py"))["command"](lisp.find_emacs(), folder, ready)
    return words, {**variables, "PYTHONPATH": str(REPOSITORY), "LANG": "C.UTF-8"}


def test_the_first_scene_is_on_the_screen_when_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = tmp_path / "ready"
    sized(*demo(tmp_path, monkeypatch, ready), tmp_path, 40, 120, ready)
    assert "CURRENCY" not in (tmp_path / "shop" / "prices.py").read_text()


def test_the_line_that_will_be_edited_is_in_sight_on_a_small_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, environ = demo(tmp_path, monkeypatch)
    line = '(with-current-buffer "prices.py" (save-excursion (goto-char (point-max)) (forward-line -1) (point)))'
    window = '(get-buffer-window "prices.py")'
    chat = "(seq-some #'smith-chat-get (smith-session-all))"
    seen = f"(and (> (length (window-list)) 1) {chat} (pos-visible-in-window-p {line} {window}))"
    done = tmp_path / "done"
    sized([*words, *when(seen, done)], environ, tmp_path, 24, 80, done)


def test_the_chat_stays_in_an_emacs_without_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, environ = demo(tmp_path, monkeypatch)
    done = tmp_path / "done"
    shown = "(and smith-session--all (get-buffer-window (smith-chat-get (cdar smith-session--all))))"
    words = [lisp.find_emacs(), "-Q", "-nw", "-l", str(REPOSITORY / "tools" / "try.el")]
    words += ["--eval", f'(setq smith-command (list "{sys.executable}" "-m" "smith_server" "serve"))']
    splash = '(get-buffer-window "*GNU Emacs*")'
    sized([*words, *when(f"(and {shown} (not {splash}))", done)], environ, tmp_path, 24, 80, done)
