"""The terminal as the place where a person is asked and answered, drawn or in plain lines."""

import os
import sys
import textwrap
from collections.abc import Mapping
from typing import TextIO

from smith_server.cli.run import Headless
from smith_server.core.messages import UserMessage
from smith_server.core.ports import Approver
from smith_server.runtime.session import Session


class Terminal(Headless):
    """No editor; the person at this terminal, if there is one, is asked."""

    name = "a terminal"

    def __init__(self, is_attended: bool) -> None:
        self._is_attended = is_attended

    def approver(self, session: Session) -> Approver:
        return session.approvals if self._is_attended else super().approver(session)


def undrawable(answers: TextIO) -> str:
    """Why nothing can be drawn here; "" when it can."""
    if not sys.stdin.isatty() or not answers.isatty():
        return "Standard input or output is no terminal"
    if not can_draw(os.environ):
        return "This terminal can only print lines (TERM)"
    return ""


def can_draw(environ: Mapping[str, str]) -> bool:
    """Whether the terminal can do more than print lines, by what its environment says."""
    return environ.get("TERM", "") not in ("", "dumb", "unknown")


def how_to_go_on(session: Session) -> str:
    """The last words."""
    return f"smith: to go on: smith chat -c, or smith chat --resume {session.id[:8]}."


def resumed(session: Session) -> str:
    """What a person recognises their conversation by."""
    said = [message.text for message in session.talk.messages if isinstance(message, UserMessage)]
    last = textwrap.shorten(said[-1] if said else "", 70, placeholder=" …")
    count = len(session.talk.messages)
    length = f"{count} message" if count == 1 else f"{count} messages"
    return f"going on with {session.id[:8]}, {length}. Your last prompt: {last}"
