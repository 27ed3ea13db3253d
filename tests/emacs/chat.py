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


def turn(server: TestServer, text: str) -> None:
    server.event("turn_started", text=text, model="m", provider="p")
    server.event("llm_request_started", model="m")


def say(server: TestServer, text: str, message: str = "m1") -> None:
    server.event("llm_output_delta", message=message, text=text)


def ask(server: TestServer, number: int = 1) -> None:
    server.event("tool_call_started", call_id=f"c{number}", name="bash", arguments="{}", title=f"make {number}")
    server.event(
        "approval_asked",
        id=f"q{number}",
        call_id=f"c{number}",
        name="bash",
        title=f"make {number}",
        diff="@@ -1 +1 @@\n-a\n+b",
        saves=["a.txt"],
    )


def stored(text: str, answer: str = "Stored answer.") -> list[dict[str, Any]]:
    return [
        {"kind": "turn_started", "turn": "t0", "text": text},
        {"kind": "llm_output_delta", "turn": "t0", "message": "m0", "text": answer},
        {"kind": "turn_completed", "turn": "t0", "stop_reason": "completed"},
    ]


def settled(server: TestServer) -> None:
    """All that was sent before has arrived."""
    server.request("smith/readBuffer", {"uri": "file:///none"})
