"""One open conversation: a queue of prompts and the one task that runs them. Nothing else lives here."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from smith_server.core.cancel import CancelToken
from smith_server.core.compaction import Compaction
from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentError, failure, public
from smith_server.core.events import (
    ContextCompacted,
    Envelope,
    ErrorReported,
    Event,
    MessageAdded,
    SessionFailed,
    TurnCancelRequested,
    TurnStarted,
)
from smith_server.core.interrupt import wait_for
from smith_server.core.messages import UserMessage
from smith_server.core.scope import TurnInput
from smith_server.core.turn import TurnEnd, run_turn
from smith_server.runtime.approvals import Approvals
from smith_server.runtime.bus import Bus
from smith_server.runtime.ending import ended, last_event
from smith_server.runtime.errands import Errands
from smith_server.runtime.lifecycle import Life
from smith_server.runtime.line import Line, Prompt, Ticket
from smith_server.runtime.outcome import CancelOutcome, TurnRecord
from smith_server.store.lease import Lease, facts, named

CANCEL_SECONDS = 0.5
READ_ONLY = "It is shown here read-only: /take-over goes on with it here, /fork in a copy."

T = TypeVar("T")


class _Running(NamedTuple):
    """The turn at work: what is seen of it, what stops it, whose prompt it is."""

    record: TurnRecord
    token: CancelToken
    placed: Ticket


class Session:
    """One conversation at work. `prepare` makes the input of a turn and may raise `AgentFailure`.

    `role` and `model` are those that the person chose for it, "" for the configured ones, `provider` the one that
    the model was chosen for, "" for any; `compactions` say what of `talk` is not sent any more. `holder` is the
    right of another process to write it: then it is only looked at here. `line` holds what waits for a turn.
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
        self.line = Line(self.emit)
        self.compactions: list[Compaction] = []
        self.approvals = Approvals(self.emit)
        self.errands = Errands()
        self._bus = bus
        self._prepare = prepare
        self.role = ""
        self.model = ""
        self.title = ""
        self.holder: Lease | None = None
        self.provider = ""
        self.life = Life()
        self._task: asyncio.Task[None] | None = None
        self._beside: CancelToken | None = None
        self._running: _Running | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits to run."""
        return self._task is not None and not self._task.done()

    @property
    def turn(self) -> str:
        """The id of the running turn, or ""; a turn that has had its last event runs no more."""
        record = self._running.record if self._running else None
        return record.turn if record is not None and not record.stop_reason else ""

    async def submit(self, prompt: Prompt, *, queue: bool = True) -> Ticket:
        """Take a prompt; it runs at once, or waits in line, stored, behind the running turn.

        Raises a `policy` failure `turn_active` when busy and not allowed to wait.
        """
        self.require_writable()
        if self.busy and not queue:
            raise failure("policy", "turn_active", "A turn is running. Cancel it, or send the prompt with `queue`.")
        placed = self.line.add(prompt, waits=self.busy)
        if placed.waited:
            await self._bus.told()
        if not self.busy:
            self._task = asyncio.create_task(self._work(), name=f"session {self.id}")
        return placed

    async def steer(self, text: str) -> str:
        """Say something to the running turn: stored when this returns, taken with the next request to the model.

        Without a running turn it is the next prompt. The name under which it waits. Raises as `submit`.
        """
        if self._running is None:
            return (await self.submit(Prompt(text))).id
        self.require_writable()
        name = self.line.steer(text)
        await self._bus.told()
        return name

    def require_writable(self) -> None:
        """Raises policy/`read_only` when another process writes this conversation, internal/`session_state` when it
        is not open any more."""
        self.life.require_running()
        if self.holder is not None:
            text = f"This conversation is open in {named(self.holder)}. {READ_ONLY}"
            raise failure("policy", "read_only", text, **facts(self.holder))

    async def alone(self, work: Callable[[CancelToken], Awaitable[T]]) -> T:
        """Do something that no turn may come between: prompts wait for it in line, a cancel asks it to stop.

        Raises policy/`turn_active` when busy, and as `require_writable`.
        """
        self.require_writable()
        if self.busy:
            raise failure("policy", "turn_active", "A turn is running. Cancel it first.")
        self._beside, held = CancelToken(), len(self.line)
        job = asyncio.ensure_future(work(self._beside))
        self._task = asyncio.create_task(self._after(job, held), name=f"session {self.id}")
        try:
            return await job
        finally:
            if len(self.line) <= held:
                await asyncio.wait([self._task])

    async def _after(self, job: asyncio.Future[Any], held: int) -> None:
        """Prompts that came meanwhile run now; those that were `held` before wait on."""
        await asyncio.wait([job])
        self._beside = None
        if len(self.line) > held:
            await self._work()

    async def edit_waiting(self, name: str, text: str) -> None:
        """As `Line.edit`; stored when this returns. Raises as `require_writable` too."""
        self.require_writable()
        self.line.edit(name, text)
        await self._bus.told()

    async def drop_waiting(self, name: str) -> str:
        """As `Line.drop`; stored when this returns. Raises as `require_writable` too."""
        self.require_writable()
        text = self.line.drop(name)
        await self._bus.told()
        return text

    async def cancel(self) -> CancelOutcome:
        """Stop the running turn and errands and empty the line; returns when nothing of it runs any more."""
        dropped = self.line.drop_all()
        self._ask_to_stop()
        outcome, ended = await asyncio.gather(self._stopped(dropped), self.errands.cancel())
        killed = (*outcome.killed, *ended)
        return structs.replace(outcome, cancelled=outcome.cancelled or bool(ended), killed=killed)

    def _ask_to_stop(self) -> None:
        """At once: an answer that came a moment before starts nothing any more."""
        if self._running is not None:
            self.emit(TurnCancelRequested())
            self._running.token.request()
        elif self._beside is not None:
            self._beside.request()

    async def _stopped(self, dropped: tuple[str, ...]) -> CancelOutcome:
        if self._running is None:
            return CancelOutcome(bool(dropped) or self._beside is not None, dropped=dropped)
        record, _, placed = self._running
        await asyncio.wait([placed.done])
        return record.stopped(dropped)

    async def cancel_ticket(self, placed: Ticket) -> None:
        """Stop the turn of `placed`; one that still waits is taken out of the line alone."""
        if self._running is not None and self._running.placed is placed:
            await self.cancel()
        else:
            self.line.withdraw(placed)

    def start(self) -> None:
        """Take prompts from now on."""
        self.life = self.life.start()

    async def close(self, reason: str = "") -> None:
        """End the work of this conversation. Prompts in line stay stored and wait for whoever opens it next."""
        self.life = self.life.stop(reason)
        await self._end()

    def lose(self, error: AgentError) -> None:
        """From now on nothing begins here, and what runs stops; `fail` waits for it."""
        self.life = self.life.fail(error)
        if self._running is not None:
            self._running.token.request()

    async def fail(self, error: AgentError) -> None:
        """End the work of this conversation, which cannot go on in this process, and say so."""
        self.lose(error)
        await self._end()
        self.emit(SessionFailed(error=public(error)))

    async def _end(self) -> None:
        self.line.leave()
        self._ask_to_stop()
        await self.errands.cancel()
        await self._stopped(())
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        while self.line:
            await self._turn(self.line.next())

    async def _turn(self, placed: Ticket) -> None:
        prompt, record, token = placed.prompt, TurnRecord(self.talk.begin_turn()), CancelToken()
        self._running = _Running(record, token, placed)
        placed.begun.set_result(record.turn)
        self.emit(TurnStarted(text=prompt.text, queued=placed.id if placed.waited else ""))
        message = UserMessage(self.talk.mint(), prompt.text, prompt.attached)
        self.talk.add(message)
        self.emit(MessageAdded(message=message))
        end = await ended(self._run(prompt, token), self.talk, self.emit)
        if end.stop_reason == "budget_exhausted" and end.error is not None:
            self.emit(ErrorReported(error=public(end.error)))
        self.emit(last_event(end))
        await (self._told_soon() if token.requested else self._bus.told())
        self._running = None
        if self.life.status == "running":
            self.line.too_late(dropped=token.requested)
        placed.done.set_result(record.outcome())

    async def _told_soon(self) -> None:
        """Wait until everybody heard everything and it is stored, but not for a store that is slow."""
        told = asyncio.ensure_future(self._bus.told())
        await asyncio.wait([told], timeout=CANCEL_SECONDS)
        told.cancel()

    async def _run(self, prompt: Prompt, token: CancelToken) -> TurnEnd:
        work = await wait_for(self._prepare(self, prompt, token), token)
        return await run_turn(work, self.talk, self.emit)

    def emit(self, event: Event) -> None:
        """Post an event of this conversation, and of the running turn if there is one."""
        envelope = Envelope(self.id, self.turn, event)
        if self._running is not None:
            self._running.record.see(event)
        if isinstance(event, ContextCompacted) and event.steps:
            self.compactions.append(event.record)
        self._bus.emit(envelope)
