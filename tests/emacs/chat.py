"""What a test sees and says in the chat of an Emacs whose server is in its hands."""

import contextlib
from collections.abc import Callable
from typing import Any

from tests.emacs.editor import Emacs
from tests.nvim.server import TestServer, until

IN_CHAT = "(with-current-buffer (smith-chat-get (cdar smith-session--all)) {})"


class Chat:
    """The chat buffer beside the file that was open when it was opened."""

    def __init__(self, emacs: Emacs) -> None:
        self.emacs = emacs

    def lisp(self, form: str) -> Any:
        """The value of `form` in the chat buffer."""
        return self.emacs.lisp(IN_CHAT.format(form))

    def said(self) -> str:
        """What stands above the rule."""
        text: str = self.lisp('(concat "" (buffer-substring-no-properties (point-min) smith-block-end))')
        return text

    def typed(self) -> str:
        """What stands below it."""
        text: str = self.lisp('(concat "" (smith-input-text))')
        return text

    def shows(self, *lines: str) -> bool:
        """Waits until exactly these lines stand above the rule; shows the difference when they do not."""
        expected = "".join(line + "\n" for line in lines)
        return _becomes(self.said, expected)

    def holds(self, words: str) -> bool:
        """Waits until these words stand above the rule."""
        return until(lambda: words in self.said(), words)

    def types(self, words: str) -> bool:
        """Waits until exactly these words are typed."""
        return _becomes(self.typed, words)

    def is_here(self) -> bool:
        return self.emacs.lisp("(eq major-mode 'smith-chat-mode)") is True


def _becomes(now: Callable[[], str], expected: str) -> bool:
    with contextlib.suppress(AssertionError):
        return until(lambda: now() == expected)
    last = now()
    assert last == expected, last
    return True


def settled(server: TestServer) -> None:
    """All that was sent before has arrived."""
    server.request("smith/readBuffer", {"uri": "file:///none"})
