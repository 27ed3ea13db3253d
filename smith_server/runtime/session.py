"""One open conversation: a queue of prompts and the one task that runs them. Nothing else lives here."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

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
    PromptDropped,
    PromptEdited,
    PromptQueued,
    PromptTaken,
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
from smith_server.runtime.line import Inbox, Prompt, Ticket, new_name
from smith_server.runtime.outcome import CancelOutcome, TurnOutcome, TurnRecord
from smith_server.store.lease import Lease, facts, named

CANCEL_SECONDS = 0.5
READ_ONLY = "It is shown here read-only: /take-over goes on with it here, /fork in a copy."

T = TypeVar("T")


class Session:
    """One conversation at work. `prepare` makes the input of a turn and may raise `AgentFailure`.

    `role` and `model` are those that the person chose for it, "" for the configured ones, `provider` the one that
    the model was chosen for, "" for any; `compactions` say what of `talk` is not sent any more. `holder` is the
    right of another process to write it: then it is only looked at here.
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
        self.inbox = Inbox(lambda name: self.emit(PromptTaken(id=name)))
        self.compactions: list[Compaction] = []
        self.approvals = Approvals(self.emit)
        self.errands = Errands()
        self._attached: list[str] = []
        self._bus = bus
        self._prepare = prepare
        self.role = ""
        self.model = ""
        self.title = ""
        self.holder: Lease | None = None
        self.provider = ""
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
        """The id of the running turn, or ""; a turn that has had its last event runs no more."""
        record = self._running[0] if self._running else None
        return record.turn if record is not None and not record.stop_reason else ""

    async def submit(self, prompt: Prompt, *, queue: bool = True) -> Ticket:
        """Take a prompt; it runs at once, or waits in line, stored, behind the running turn.

        Raises a `policy` failure `turn_active` when busy and not allowed to wait.
        """
        self.require_writable()
        if self.busy and not queue:
            raise failure("policy", "turn_active", "A turn is running. Cancel it, or send the prompt with `queue`.")
        prompt = self._with_attached(prompt)
        placed = Ticket.of(prompt, waited=self.busy)
        self._queue.append(placed)
        if placed.waited:
            self.emit(PromptQueued(id=placed.id, text=prompt.text, record=prompt.record()))
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
        name = new_name()
        self.emit(PromptQueued(id=name, text=text, steers=True))
        self.inbox.put(name, text)
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
        self._beside, held = CancelToken(), len(self._queue)
        job = asyncio.ensure_future(work(self._beside))
        self._task = asyncio.create_task(self._after(job, held), name=f"session {self.id}")
        try:
            return await job
        finally:
            if len(self._queue) <= held:
                await asyncio.wait([self._task])

    async def _after(self, job: asyncio.Future[Any], held: int) -> None:
        """Prompts that came meanwhile run now; those that were `held` before wait on."""
        await asyncio.wait([job])
        self._beside = None
        if len(self._queue) > held:
            await self._work()

    def attach(self, text: str) -> None:
        """Let the next prompt carry `text`."""
        self._attached.append(text)

    def _with_attached(self, prompt: Prompt) -> Prompt:
        carried, self._attached = "\n\n".join(self._attached), []
        if not carried:
            return prompt
        attached = f"{prompt.attached}\n\n{carried}" if prompt.attached else carried
        return structs.replace(prompt, attached=attached, carried=carried)

    def hold(self, prompts: Iterable[tuple[str, Prompt]]) -> None:
        """Put back prompts that waited when an earlier process ended; they run before the next one."""
        self._queue.extend(Ticket.of(prompt, name) for name, prompt in prompts)

    def waiting(self) -> Sequence[PromptQueued]:
        """What waits: words for the running turn, then the prompts in line."""
        words = [PromptQueued(id=name, text=text, steers=True) for name, text in self.inbox.waiting()]
        line = [PromptQueued(id=each.id, text=each.prompt.text, record=each.prompt.record()) for each in self._queue]
        return [*words, *line]

    async def edit_waiting(self, name: str, text: str) -> None:
        """Give what waits another text; stored when this returns. Raises schema/`unknown_id` and `empty`."""
        self.require_writable()
        if not text.strip():
            raise failure("schema", "empty", "A prompt needs a text. Drop it instead.")
        if not self.inbox.change(name, text):
            placed = self._placed(name)
            placed.prompt = structs.replace(placed.prompt, text=text)
        self.emit(PromptEdited(id=name, text=text))
        await self._bus.told()

    async def drop_waiting(self, name: str) -> str:
        """Take back what waits; its text. Raises schema/`unknown_id`."""
        self.require_writable()
        text = next((each.text for each in self.waiting() if each.id == name), "")
        if self.inbox.change(name, None):
            self.emit(PromptDropped(id=name, text=text))
        else:
            placed = self._placed(name)
            self._queue.remove(placed)
            self._drop(placed)
        await self._bus.told()
        return text

    def _placed(self, name: str) -> Ticket:
        for each in self._queue:
            if each.id == name:
                return each
        raise failure("schema", "unknown_id", "No prompt of that id waits here; it may have begun meanwhile.", id=name)

    async def cancel(self) -> CancelOutcome:
        """Stop the running turn and errands and empty the line; returns when nothing of it runs any more."""
        dropped = self._drop_queue()
        self._ask_to_stop()
        outcome, ended = await asyncio.gather(self._stopped(dropped), self.errands.cancel())
        killed = (*outcome.killed, *ended)
        return structs.replace(outcome, cancelled=outcome.cancelled or bool(ended), killed=killed)

    def _ask_to_stop(self) -> None:
        """At once: an answer that came a moment before starts nothing any more."""
        if self._running is not None:
            self.emit(TurnCancelRequested())
            self._running[1].request()
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
        if self._running is not None and self._running[2] is placed:
            await self.cancel()
        elif placed in self._queue:
            self._queue.remove(placed)
            self._drop(placed)

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
            self._running[1].request()

    async def fail(self, error: AgentError) -> None:
        """End the work of this conversation, which cannot go on in this process, and say so."""
        self.lose(error)
        await self._end()
        self.emit(SessionFailed(error=public(error)))

    def leave_line(self) -> None:
        """What waits in line is for whoever opens the conversation next, or for nobody."""
        while self._queue:
            self._queue.popleft().done.set_result(TurnOutcome("", "cancelled"))

    async def _end(self) -> None:
        self.leave_line()
        self._ask_to_stop()
        await self.errands.cancel()
        await self._stopped(())
        if self._task is not None:
            await asyncio.wait([self._task])

    def _drop_queue(self) -> tuple[str, ...]:
        dropped = []
        while self._queue:
            placed = self._queue.popleft()
            dropped.append(placed.prompt.text)
            self._drop(placed)
        return tuple(dropped)

    def _drop(self, placed: Ticket) -> None:
        if placed.prompt.carried:
            self._attached.insert(0, placed.prompt.carried)
        self.emit(PromptDropped(id=placed.id, text=placed.prompt.text))
        placed.done.set_result(TurnOutcome("", "cancelled"))

    async def _work(self) -> None:
        while self._queue:
            await self._turn(self._queue.popleft())

    async def _turn(self, placed: Ticket) -> None:
        prompt, record, token = placed.prompt, TurnRecord(self.talk.begin_turn()), CancelToken()
        self._running = (record, token, placed)
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
        for name, text in self.inbox.left():
            self._next_prompt(name, text, dropped=token.requested)
        placed.done.set_result(record.outcome())

    async def _told_soon(self) -> None:
        """Wait until everybody heard everything and it is stored, but not for a store that is slow."""
        told = asyncio.ensure_future(self._bus.told())
        await asyncio.wait([told], timeout=CANCEL_SECONDS)
        told.cancel()

    def _next_prompt(self, name: str, text: str, *, dropped: bool) -> None:
        """Words that came too late for their turn; they wait, stored, under that name already."""
        late = Ticket.of(Prompt(text), name)
        if self.life.status != "running":
            return
        if dropped:
            self._drop(late)
        else:
            self._queue.append(late)

    async def _run(self, prompt: Prompt, token: CancelToken) -> TurnEnd:
        work = await wait_for(self._prepare(self, prompt, token), token)
        return await run_turn(work, self.talk, self.emit)

    def emit(self, event: Event) -> None:
        """Post an event of this conversation, and of the running turn if there is one."""
        envelope = Envelope(self.id, self.turn, event)
        if self._running is not None:
            self._running[0].see(event)
        if isinstance(event, ContextCompacted) and event.steps:
            self.compactions.append(event.record)
        self._bus.emit(envelope)
