"""A real Emacs with the real package and the real server, used by keys as a person would."""

import sys
from pathlib import Path
from typing import Any

from tests.e2e.neovim import until
from tests.e2e.world import World
from tests.emacs.editor import Emacs, quoted

RET, ESC, C_C, C_X = "\r", "\x1b", "\x03", "\x18"


class Person:
    """Somebody at an Emacs in the project of a world."""

    def __init__(self, world: World, package: Path) -> None:
        command = [sys.executable, "-m", "smith_server", "serve"]
        self.emacs = Emacs(world.root, command, world.environ, package)

    def close(self) -> None:
        self.emacs.close()

    def lisp(self, form: str) -> Any:
        return self.emacs.lisp(form)

    def keys(self, keys: str) -> None:
        self.emacs.keys(keys)

    def edit(self, path: Path) -> None:
        self.emacs.edit(path)

    def text(self, path: Path) -> str:
        """What the buffer of a file holds."""
        text: str = self.lisp(
            f'(with-current-buffer (find-buffer-visiting {quoted(path)}) (concat "" (buffer-string)))'
        )
        return text

    def chat(self) -> str:
        """What the chat shows, folded or not."""
        found = "(seq-some (lambda (each) (smith-chat-get (cdr each))) smith-session--all)"
        form = f'(let ((chat {found})) (if chat (with-current-buffer chat (buffer-string)) "."))'
        return str(self.lisp(f"(substring-no-properties {form})"))

    def open(self) -> None:
        """Opens the chat and goes there."""
        self.keys(ESC + "xsmith" + RET)
        until(lambda: self.lisp("(eq major-mode 'smith-chat-mode)") is True)

    def send(self, prompt: str) -> None:
        """Sends a prompt from where the person is, without going to the chat."""
        self.lisp(f"(ignore (smith-send {quoted(prompt)}))")

    def shows(self, words: str) -> None:
        """Waits until the chat shows `words`."""
        try:
            until(lambda: words in self.chat())
        except AssertionError:
            raise AssertionError(f"the chat never showed {words!r}:\n{self.chat()}") from None
