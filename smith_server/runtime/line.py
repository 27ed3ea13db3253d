"""What a person sends to a conversation, and how it waits there until a turn takes it."""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from smith_server.core.errors import failure
from smith_server.core.events import PromptDropped, PromptEdited, PromptQueued, PromptTaken
from smith_server.core.ports import Emit, Word
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


class Line:
    """What waits in one conversation: words for the running turn in `inbox`, and the prompts behind it, oldest first.

    Told by events that `emit` gets: whatever waits, changes or goes, but for a prompt whose turn begins.
    """

    def __init__(self, emit: Emit) -> None:
        self.inbox = Inbox(lambda name: emit(PromptTaken(id=name)))
        self._emit = emit
        self._prompts: deque[Ticket] = deque()
        self._attached: list[str] = []

    def __len__(self) -> int:
        return len(self._prompts)

    def attach(self, text: str) -> None:
        """Let the next prompt carry `text`."""
        self._attached.append(text)

    def add(self, prompt: Prompt, *, waits: bool) -> Ticket:
        """Put a prompt last, with what is attached for it; told when it `waits`."""
        placed = Ticket.of(self._with_attached(prompt), waited=waits)
        self._prompts.append(placed)
        if waits:
            self._emit(_queued(placed))
        return placed

    def hold(self, prompts: Iterable[tuple[str, Prompt]]) -> None:
        """Put back prompts that waited when an earlier process ended, by id."""
        self._prompts.extend(Ticket.of(prompt, name) for name, prompt in prompts)

    def steer(self, text: str) -> str:
        """Words for the running turn; the name under which they wait."""
        name = new_name()
        self._emit(PromptQueued(id=name, text=text, steers=True))
        self.inbox.put(name, text)
        return name

    def next(self) -> Ticket:
        """The prompt that is first in line, which it leaves."""
        return self._prompts.popleft()

    def waiting(self) -> Sequence[PromptQueued]:
        """What waits: words for the running turn, then the prompts."""
        words = [PromptQueued(id=name, text=text, steers=True) for name, text in self.inbox.waiting()]
        return [*words, *map(_queued, self._prompts)]

    def edit(self, name: str, text: str) -> None:
        """Give what waits another text. Raises schema/`unknown_id` and `empty`."""
        if not text.strip():
            raise failure("schema", "empty", "A prompt needs a text. Drop it instead.")
        if not self.inbox.change(name, text):
            placed = self._placed(name)
            placed.prompt = structs.replace(placed.prompt, text=text)
        self._emit(PromptEdited(id=name, text=text))

    def drop(self, name: str) -> str:
        """Take back what waits; its text. Raises schema/`unknown_id`."""
        text = next((each.text for each in self.waiting() if each.id == name), "")
        if self.inbox.change(name, None):
            self._emit(PromptDropped(id=name, text=text))
        else:
            self.withdraw(self._placed(name))
        return text

    def withdraw(self, placed: Ticket) -> None:
        """Take this prompt out, if it is in line."""
        if placed in self._prompts:
            self._prompts.remove(placed)
            self._drop(placed)

    def drop_all(self) -> tuple[str, ...]:
        """Take every prompt back; their texts."""
        dropped = tuple(each.prompt.text for each in self._prompts)
        while self._prompts:
            self._drop(self._prompts.popleft())
        return dropped

    def too_late(self, *, dropped: bool) -> None:
        """Words that no request of their turn has taken are prompts now, under their names, or `dropped` with it."""
        for name, text in self.inbox.left():
            late = Ticket.of(Prompt(text), name)
            if dropped:
                self._drop(late)
            else:
                self._prompts.append(late)

    def leave(self) -> None:
        """What is stored of the line waits for whoever opens the conversation next, if anybody does; not told."""
        while self._prompts:
            self._prompts.popleft().done.set_result(TurnOutcome("", "cancelled"))

    def _with_attached(self, prompt: Prompt) -> Prompt:
        carried, self._attached = "\n\n".join(self._attached), []
        if not carried:
            return prompt
        attached = f"{prompt.attached}\n\n{carried}" if prompt.attached else carried
        return structs.replace(prompt, attached=attached, carried=carried)

    def _placed(self, name: str) -> Ticket:
        for each in self._prompts:
            if each.id == name:
                return each
        raise failure("schema", "unknown_id", "No prompt of that id waits here; it may have begun meanwhile.", id=name)

    def _drop(self, placed: Ticket) -> None:
        if placed.prompt.carried:
            self._attached.insert(0, placed.prompt.carried)
        self._emit(PromptDropped(id=placed.id, text=placed.prompt.text))
        placed.done.set_result(TurnOutcome("", "cancelled"))


def _queued(placed: Ticket) -> PromptQueued:
    return PromptQueued(id=placed.id, text=placed.prompt.text, record=placed.prompt.record())
