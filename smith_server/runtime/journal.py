"""Stores events before they are shown: a batch is one commit, as many events as wait.

What is only shown waits for the store a quarter of a second at most, a call until the store has
given up, the end of a turn two seconds. What could not be stored stays in memory and is tried
again with the next batch; the person is told once.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import apsw

from smith_server.core.errors import AgentError, AgentFailure, agent_error
from smith_server.core.events import (
    Envelope,
    Event,
    MessageAdded,
    OutputDelta,
    PromptDropped,
    PromptQueued,
    ReasoningDelta,
    RequestStarted,
    SessionStarted,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from smith_server.core.messages import Usage
from smith_server.runtime.bus import ends_turn
from smith_server.store import conversations, lease, turns
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import Holder
from smith_server.store.transaction import transaction
from smith_server.store.writes import (
    AddMessage,
    AddPiece,
    CloseTurn,
    DropPrompt,
    OpenTurn,
    QueuePrompt,
    SetUsage,
    TurnState,
    Write,
)

SHOWN_SECONDS = 0.25
CALL_SECONDS = 6.0
END_SECONDS = 2.0
_TITLE = 80

Trouble = Callable[[str, AgentError], None]


class Journal:
    """The way of events into the store; see `runtime/bus.py` for who calls it."""

    def __init__(self, database: Database, holder: Holder, face: str, trouble: Trouble) -> None:
        self._database = database
        self._holder = holder
        self._face = face
        self._trouble = trouble
        self._backlog: list[Write] = []
        self._ends = False
        self._task: asyncio.Task[None] | None = None
        self._roots: dict[str, str] = {}
        self._models: dict[str, tuple[str, str]] = {}
        self._told = False

    async def keep(self, batch: list[Envelope]) -> None:
        """Store what `batch` means, as long as the store answers in time."""
        ends = any(map(ends_turn, batch))
        self._backlog += [write for envelope in batch for write in self._writes(envelope)]
        self._ends = self._ends or ends
        if not self._backlog:
            return
        await self._settle(END_SECONDS if ends else SHOWN_SECONDS)

    async def settled(self) -> None:
        """Wait until everything taken so far is stored, or the store has been given up on."""
        await self._settle(CALL_SECONDS)

    async def _settle(self, seconds: float) -> None:
        if self._task is None or self._task.done():
            if not self._backlog:
                return
            self._task = asyncio.create_task(self._store(), name="journal")
        done, _ = await asyncio.wait([self._task], timeout=seconds)
        if not done and seconds > SHOWN_SECONDS:
            self._tell(
                agent_error("persistence", "unavailable", "The store does not answer; this turn goes on in memory.")
            )

    async def _store(self) -> None:
        while self._backlog:
            writes, ends = self._backlog, self._ends
            self._backlog, self._ends = [], False
            try:
                await self._database.call(partial(self._apply, writes, ends))
                self._told = False
            except AgentFailure as problem:
                self._backlog = writes + self._backlog
                self._ends = self._ends or ends
                self._tell(problem.error)
                return

    def _apply(self, writes: list[Write], ends: bool, connection: apsw.Connection) -> None:
        with transaction(connection, ends):
            for write in writes:
                if isinstance(write, OpenTurn) and write.conversation in self._roots:
                    self._create(connection, write)
            turns.apply(connection, writes, full_sync=ends)

    def _create(self, connection: apsw.Connection, write: OpenTurn) -> None:
        """The first turn of a conversation brings its header, the right to write it, and its place as the last one."""
        if conversations.get(connection, write.conversation) is not None:
            return
        root = self._roots[write.conversation]
        conversations.create(connection, Header(write.conversation, root, _title(write.prompt)))
        lease.take(connection, write.conversation, self._holder, self._face)
        last = conversations.pointer(connection, root)
        other = lease.held(connection, last) if last else None
        if other is None or other.holder == self._holder:
            conversations.point(connection, root, write.conversation)

    def _tell(self, error: AgentError) -> None:
        """Once until the store works again; the conversation is the one that waits."""
        if not self._told and self._backlog:
            self._told = True
            self._trouble(self._backlog[0].conversation, error)

    def _writes(self, envelope: Envelope) -> Iterator[Write]:
        event, name, job = envelope.event, envelope.conversation, envelope.job
        match event:
            case OutputDelta(message, text):
                yield AddPiece(name, message, text, "text", job)
            case ReasoningDelta(message, text):
                yield AddPiece(name, message, text, "thinking", job)
            case MessageAdded(message):
                yield AddMessage(name, message, job)
            case TurnStarted(text, queued):
                yield OpenTurn(name, envelope.turn, text, self._holder, job=job)
                yield DropPrompt(name, queued)
            case RequestStarted(model, provider):
                self._models[name] = (model, provider)
            case PromptQueued(id, text):
                yield QueuePrompt(name, id, text)
            case PromptDropped(id):
                yield DropPrompt(name, id)
            case SessionStarted(root, resumed):
                if not resumed:
                    self._roots[name] = root
            case _:
                yield from self._end(envelope, event)

    def _end(self, envelope: Envelope, event: Event) -> Iterable[Write]:
        ended = _ended(event)
        if ended is None:
            return ()
        state, usage, record = ended
        model, _ = self._models.get(envelope.conversation, ("", ""))
        return (
            SetUsage(envelope.conversation, envelope.turn, usage, envelope.job or "parent", envelope.role, model),
            CloseTurn(envelope.conversation, envelope.turn, state, envelope.job, dict(record)),
        )


def _ended(event: Event) -> tuple[TurnState, Usage, dict[str, object]] | None:
    match event:
        case TurnCompleted(_, usage):
            return "completed", usage, {}
        case TurnCancelled(usage):
            return "cancelled", usage, {}
        case TurnFailed(error, usage):
            return "error", usage, {"code": error.code, "message": error.message}
        case _:
            return None


def _title(prompt: str) -> str:
    first = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"
