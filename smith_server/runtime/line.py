"""What a person sends to a conversation, and how it waits there until a turn takes it."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from smith_server.core.ports import Word
from smith_server.runtime.outcome import TurnOutcome


class Prompt(Struct, frozen=True):
    """What a person sends: the text, the model to use ("" for the usual), their folder, in words what they pointed
    at, and the role that takes it ("" for the usual). `carried` is what of `attached` was left for the next prompt."""

    text: str
    model: str = ""
    cwd: Path | None = None
    attached: str = ""
    role: str = ""
    carried: str = ""

    def record(self) -> dict[str, Any]:
        """Everything but the text, for the store; what is not set is left out."""
        cwd = str(self.cwd) if self.cwd is not None else ""
        found = {"model": self.model, "cwd": cwd, "attached": self.attached, "role": self.role}
        return {name: value for name, value in found.items() if value}


def restored(text: str, record: dict[str, Any]) -> Prompt:
    """A prompt as it was stored; what a later version may have written besides is passed over."""
    known = {name: str(record.get(name, "")) for name in ("model", "attached", "role")}
    cwd = record.get("cwd")
    return Prompt(text, cwd=Path(cwd) if cwd else None, **known)


class Ticket(Struct, eq=False):
    """A prompt in line; `begun` gets the id of its turn, `done` the outcome. `waited` when it did not run at once."""

    id: str
    prompt: Prompt
    begun: asyncio.Future[str]
    done: asyncio.Future[TurnOutcome]
    waited: bool = True

    @classmethod
    def of(cls, prompt: Prompt, name: str = "", *, waited: bool = True) -> "Ticket":
        """A ticket for `prompt`, with a name of its own unless it has one."""
        loop = asyncio.get_running_loop()
        return cls(name or new_name(), prompt, loop.create_future(), loop.create_future(), waited)


def new_name() -> str:
    """The id of something that waits."""
    return secrets.token_urlsafe(9)


class Inbox:
    """What the running turn is told between two requests: words of the person, and notes of ours.

    `taken` is called with the name of words that go into a request.
    """

    def __init__(self, taken: Callable[[str], None] = lambda name: None) -> None:
        self._taken = taken
        self._words: list[tuple[str, str]] = []
        self._notes: list[str] = []

    def put(self, name: str, text: str) -> None:
        """Words of the person; without another request they become the next prompt."""
        self._words.append((name, text))

    def note(self, text: str) -> None:
        """Something for the model to know; waits for the next request, however long that takes."""
        self._notes.append(text)

    def take(self) -> Sequence[Word]:
        """Everything, notes first."""
        notes, self._notes = self._notes, []
        words = self.left()
        for name, _ in words:
            self._taken(name)
        return [*(Word(text, aside=True) for text in notes), *(Word(text) for _, text in words)]

    def waiting(self) -> Sequence[tuple[str, str]]:
        """The words that no request has taken: name and text."""
        return list(self._words)

    def change(self, name: str, text: str | None) -> bool:
        """Give words another text, or take them back with None; False when there are none of that name."""
        at = next((at for at, (each, _) in enumerate(self._words) if each == name), None)
        if at is None:
            return False
        self._words[at : at + 1] = [] if text is None else [(name, text)]
        return True

    def left(self) -> Sequence[tuple[str, str]]:
        """The words that no request has taken; they are gone from here then."""
        words, self._words = self._words, []
        return words
