"""One open conversation: a queue of prompts and the one task that runs them. Nothing else lives here."""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, structs

from smith_server.core.cancel import CancelToken
from smith_server.core.compaction import Compaction
from smith_server.core.conversation import Conversation
from smith_server.core.errors import failure, public
from smith_server.core.events import (
    ContextCompacted,
    Envelope,
    ErrorReported,
    Event,
    MessageAdded,
    PromptDropped,
    PromptQueued,
    TurnCancelRequested,
    TurnStarted,
)
from smith_server.core.messages import UserMessage
from smith_server.core.scope import TurnInput
from smith_server.core.turn import TurnEnd, run_turn
from smith_server.runtime.approvals import Approvals
from smith_server.runtime.bus import Bus
from smith_server.runtime.ending import ended, last_event
from smith_server.runtime.errands import Errands
from smith_server.runtime.lifecycle import Life
from smith_server.runtime.outcome import CancelOutcome, TurnOutcome, TurnRecord

CANCEL_SECONDS = 0.5

T = TypeVar("T")


class Prompt(Struct, frozen=True):
    """What a person sends: the text, the model to use ("" for the usual), their folder, and in words what they
    pointed at."""

    text: str
    model: str = ""
    cwd: Path | None = None
    attached: str = ""


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
        return cls(name or secrets.token_urlsafe(9), prompt, loop.create_future(), loop.create_future(), waited)


class Inbox:
    """What the running turn is told between two requests: words of the person, and notes of ours."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._notes: list[str] = []

    def put(self, text: str) -> None:
        """Words of the person; without another request they become the next prompt."""
        self._words.append(text)

    def note(self, text: str) -> None:
        """Something for the model to know; waits for the next request, however long that takes."""
        self._notes.append(text)

    def take(self) -> Sequence[str]:
        """Everything, notes first."""
        notes, self._notes = self._notes, []
        return [*notes, *self.left()]

    def left(self) -> Sequence[str]:
        """The words that no request has taken."""
        words, self._words = self._words, []
        return words


class Session:
    """One conversation at work. `prepare` makes the input of a turn and may raise `AgentFailure`.

    `role` and `model` are those that the person chose for it, "" for the configured ones; `compactions`
    say what of `talk` is not sent any more.
    """

    def __init__(
        self,
        conversation: str,
        root: Path,
        talk: Conversation,
        bus: Bus,
        prepare: Callable[["Session", Prompt, CancelToken], Awaitable[TurnInput]],
    ) -> None:
        self.id = conversation
        self.root = root
        self.talk = talk
        self.inbox = Inbox()
        self.compactions: list[Compaction] = []
        self.approvals = Approvals(self.emit)
        self.errands = Errands()
        self._attached: list[str] = []
        self._bus = bus
        self._prepare = prepare
        self.role = ""
        self.model = ""
        self.life = Life()
        self._queue: deque[Ticket] = deque()
        self._task: asyncio.Task[None] | None = None
        self._beside: CancelToken | None = None
        self._running: tuple[TurnRecord, CancelToken, Ticket] | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits to run."""
        return self._task is not None and not self._task.done()

    @property
    def turn(self) -> str:
        """The id of the running turn, or ""."""
        return self._running[0].turn if self._running else ""

    async def submit(self, prompt: Prompt, *, queue: bool = True) -> Ticket:
        """Take a prompt; it runs at once, or waits in line, stored, behind the running turn.

        Raises a `policy` failure `turn_active` when busy and not allowed to wait.
        """
        self.life.require_running()
        if self.busy and not queue:
            raise failure("policy", "turn_active", "A turn is running. Cancel it, or send the prompt with `queue`.")
        waits, prompt = self.busy, self._with_attached(prompt)
        ticket = Ticket.of(prompt, waited=waits)
        self._queue.append(ticket)
        if waits:
            self.emit(PromptQueued(id=ticket.id, text=prompt.text))
            await self._bus.told()
        if not self.busy:
            self._task = asyncio.create_task(self._work(), name=f"session {self.id}")
        return ticket

    def attach(self, text: str) -> None:
        """Let the next prompt carry `text`."""
        self._attached.append(text)

    def hold(self, prompts: Iterable[tuple[str, str]]) -> None:
        """Put back prompts (id, text) that waited when an earlier process ended; they run before the next one."""
        for name, text in prompts:
            self._queue.append(Ticket.of(Prompt(text), name))

    def waiting(self) -> Sequence[tuple[str, str]]:
        """The prompts in line: id and text."""
        return [(ticket.id, ticket.prompt.text) for ticket in self._queue]

    async def alone(self, work: Callable[[CancelToken], Awaitable[T]]) -> T:
        """Do something that no turn may come between: prompts wait for it in line, a cancel asks it to stop.

        Raises a `policy` failure `turn_active` when busy.
        """
        self.life.require_running()
        if self.busy:
            raise failure("policy", "turn_active", "A turn is running. Cancel it first.")
        self._beside = CancelToken()
        job = asyncio.ensure_future(work(self._beside))
        self._task = asyncio.create_task(self._after(job), name=f"session {self.id}")
        try:
            return await job
        finally:
            if not self._queue:
                await asyncio.wait([self._task])

    async def _after(self, job: asyncio.Future[Any]) -> None:
        await asyncio.wait([job])
        self._beside = None
        await self._work()

    def _with_attached(self, prompt: Prompt) -> Prompt:
        attached, self._attached = self._attached, []
        texts = [prompt.attached, *attached] if prompt.attached else attached
        return structs.replace(prompt, attached="\n\n".join(texts)) if attached else prompt

    async def cancel(self) -> CancelOutcome:
        """Stop the running turn and errands and empty the line; returns when nothing of it runs any more."""
        outcome, ended = await asyncio.gather(self._stop(self._drop_queue()), self.errands.cancel())
        killed = (*outcome.killed, *ended)
        return structs.replace(outcome, cancelled=outcome.cancelled or bool(ended), killed=killed)

    async def _stop(self, dropped: tuple[str, ...]) -> CancelOutcome:
        if self._running is None:
            if self._beside is not None:
                self._beside.request()
            return CancelOutcome(bool(dropped) or self._beside is not None, dropped=dropped)
        record, token, ticket = self._running
        self.emit(TurnCancelRequested())
        token.request()
        await asyncio.wait([ticket.done])
        return record.stopped(dropped)

    async def cancel_ticket(self, ticket: Ticket) -> None:
        """Stop the turn of `ticket`; one that still waits is taken out of the line alone."""
        if self._running is not None and self._running[2] is ticket:
            await self.cancel()
        elif ticket in self._queue:
            self._queue.remove(ticket)
            self._drop(ticket)

    def start(self) -> None:
        """Take prompts from now on."""
        self.life = self.life.start()

    async def close(self, reason: str = "") -> None:
        """End the work of this conversation. Prompts in line stay stored and wait for whoever opens it next."""
        self.life = self.life.stop(reason)
        await self.errands.cancel()
        while self._queue:
            self._queue.popleft().done.set_result(TurnOutcome("", "cancelled"))
        await self._stop(())
        if self._task is not None:
            await asyncio.wait([self._task])

    def _drop_queue(self) -> tuple[str, ...]:
        dropped = []
        while self._queue:
            ticket = self._queue.popleft()
            dropped.append(ticket.prompt.text)
            self._drop(ticket)
        return tuple(dropped)

    def _drop(self, ticket: Ticket) -> None:
        self.emit(PromptDropped(id=ticket.id, text=ticket.prompt.text))
        ticket.done.set_result(TurnOutcome("", "cancelled"))

    async def _work(self) -> None:
        while self._queue:
            await self._turn(self._queue.popleft())

    async def _turn(self, ticket: Ticket) -> None:
        record, token = TurnRecord(self.talk.begin_turn()), CancelToken()
        self._running = (record, token, ticket)
        ticket.begun.set_result(record.turn)
        self.emit(TurnStarted(text=ticket.prompt.text, queued=ticket.id if ticket.waited else ""))
        message = UserMessage(self.talk.mint(), ticket.prompt.text, ticket.prompt.attached)
        self.talk.add(message)
        self.emit(MessageAdded(message=message))
        end = await ended(self._run(ticket.prompt, token), self.talk, self.emit)
        if end.stop_reason == "budget_exhausted" and end.error is not None:
            self.emit(ErrorReported(error=public(end.error)))
        self.emit(last_event(end))
        await (self._told_soon() if token.requested else self._bus.told())
        self._running = None
        for text in self.inbox.left():
            await self._next_prompt(text, dropped=token.requested)
        ticket.done.set_result(record.outcome())

    async def _told_soon(self) -> None:
        """Wait until everybody heard everything and it is stored, but not for a store that is slow."""
        told = asyncio.ensure_future(self._bus.told())
        await asyncio.wait([told], timeout=CANCEL_SECONDS)
        told.cancel()

    async def _next_prompt(self, text: str, *, dropped: bool) -> None:
        """Words that came too late for their turn."""
        ticket = Ticket.of(Prompt(text))
        if dropped:
            self._drop(ticket)
            return
        self._queue.append(ticket)
        self.emit(PromptQueued(id=ticket.id, text=text))
        await self._bus.told()

    async def _run(self, prompt: Prompt, token: CancelToken) -> TurnEnd:
        return await run_turn(await self._prepare(self, prompt, token), self.talk, self.emit)

    def emit(self, event: Event) -> None:
        """Post an event of this conversation, and of the running turn if there is one."""
        if self._running is not None:
            self._running[0].see(event)
        if isinstance(event, ContextCompacted) and event.steps:
            self.compactions.append(event.record)
        self._bus.emit(Envelope(self.id, self.turn, event))
