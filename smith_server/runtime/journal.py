"""Stores events before they are shown: a batch is one commit, as many events as wait.

What is only shown waits for the store a quarter of a second at most, a call until the store has
given up, the end of a turn two seconds. What could not be stored stays in memory and is tried
again with the next batch; the person is told once.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import apsw
import msgspec

from smith_server.core.conversation import turn_of
from smith_server.core.errors import AgentError, AgentFailure, agent_error
from smith_server.core.events import (
    ContextCompacted,
    Envelope,
    Event,
    MessageAdded,
    OutputDelta,
    PromptDropped,
    PromptEdited,
    PromptQueued,
    PromptTaken,
    ReasoningDelta,
    RequestRetried,
    RequestStarted,
    SessionStarted,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    UsageUpdated,
)
from smith_server.core.messages import Usage
from smith_server.runtime.bus import ends_turn
from smith_server.store import conversations, lease, turns
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import Holder
from smith_server.store.keys import new_id
from smith_server.store.lease import Lease
from smith_server.store.transaction import transaction
from smith_server.store.writes import (
    AddCompaction,
    AddMessage,
    AddPiece,
    CloseTurn,
    DropPieces,
    DropPrompt,
    EditPrompt,
    OpenTurn,
    QueuePrompt,
    SetUsage,
    TurnState,
    Write,
)
from smith_server.workspace.project import find_project

SHOWN_SECONDS = 0.25
CALL_SECONDS = 6.0
END_SECONDS = 2.0
_TITLE = 80

Trouble = Callable[[str, AgentError], None]
"""Told of a conversation and what its store did; code `lease_lost` means that somebody else writes it now."""


class Journal:
    """The way of events into the store; see `runtime/bus.py` for who calls it."""

    def __init__(self, database: Database, holder: Holder, face: str, trouble: Trouble) -> None:
        self._database = database
        self._holder = holder
        self._face = face
        self._trouble = trouble
        self._backlog: list[Write] = []
        self._storing: list[Write] = []
        self._ends = False
        self._task: asyncio.Task[None] | None = None
        self._roots: dict[str, str] = {}
        self._models: dict[tuple[str, str], tuple[str, str]] = {}
        self._told = False
        self.leases: dict[str, Lease] = {}
        """The rights to write, by conversation; nothing is written without the one that was taken."""
        self._left: set[str] = set()

    async def keep(self, batch: list[Envelope]) -> None:
        """Store what `batch` means, as long as the store answers in time."""
        ends = any(map(ends_turn, batch))
        ours = [envelope for envelope in batch if envelope.conversation not in self._left]
        self._backlog += [write for envelope in ours for write in self._writes(envelope)]
        self._ends = self._ends or ends
        if not self._backlog:
            return
        await self._settle(END_SECONDS if ends else SHOWN_SECONDS)

    async def settled(self) -> None:
        """Wait until everything taken so far is stored, or the store has been given up on."""
        await self._settle(CALL_SECONDS)

    async def begin(self, conversation: str) -> None:
        """Give a conversation that has had no turn yet its place in the store."""
        if conversation in self._roots:
            await self._database.call(partial(self._create, name=conversation))

    @property
    def unsaved(self) -> int:
        """How many things happened that the store has not taken."""
        return len(self._storing) + len(self._backlog)

    def look_on(self, conversation: str) -> None:
        """Write nothing of a conversation from now on: somebody else does, or it is gone."""
        self._left.add(conversation)
        self._roots.pop(conversation, None)
        self.leases.pop(conversation, None)
        self._backlog = [write for write in self._backlog if write.conversation != conversation]

    def write(self, lease: Lease) -> None:
        """Write a conversation under this right."""
        self._left.discard(lease.conversation)
        self.leases[lease.conversation] = lease

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
            self._storing, self._backlog, self._ends = writes, [], False
            try:
                await self._database.ask(partial(self._apply, writes, ends))
                self._storing, self._told = [], False
            except AgentFailure as problem:
                self._storing, self._backlog = [], self._still_ours(writes, problem.error) + self._backlog
                self._ends = self._ends or ends
                self._tell(problem.error)
                if len(self._backlog) >= len(writes):
                    return

    def _still_ours(self, writes: list[Write], error: AgentError) -> list[Write]:
        """`writes` without those of conversations that somebody else has taken over."""
        if error.code == "lease_lost":
            lost = error.data["conversation"]
            self.look_on(lost)
            self._trouble(lost, error)
        return [write for write in writes if write.conversation not in self._left]

    def _apply(self, writes: list[Write], ends: bool, connection: apsw.Connection) -> None:
        with transaction(connection, ends):
            for write in writes:
                if isinstance(write, OpenTurn) and not write.job:
                    self._create(connection, write.conversation)
                    self._use(connection, write.conversation, write.prompt)
            tokens = {name: held.token for name, held in self.leases.items()}
            turns.apply(connection, writes, full_sync=ends, tokens=tokens)

    def _create(self, connection: apsw.Connection, name: str) -> None:
        """The header of a conversation that was begun here, and the right to write it."""
        root = self._roots.get(name)
        if root is None or conversations.get(connection, name) is not None:
            return
        project = find_project(Path(root))
        identity = project.id if project is not None and project.id else None
        conversations.create(connection, Header(name, root, project_id=identity))
        self.leases[name] = lease.take(connection, name, self._holder, self._face)

    def _use(self, connection: apsw.Connection, name: str, prompt: str) -> None:
        """The first turn of a conversation gives it a title; each makes it the one to go on with."""
        header = conversations.get(connection, name)
        if header is None:
            return
        if not header.title:
            conversations.set_title(connection, name, _title(prompt))
        last = conversations.pointer(connection, header.root)
        if last == name:
            return
        other = lease.held(connection, last) if last else None
        if other is None or other.holder == self._holder:
            conversations.point(connection, header.root, name)

    def _tell(self, error: AgentError) -> None:
        """Once until the store works again; the conversation is the one that waits."""
        if not self._told and (waits := [*self._storing, *self._backlog]):
            self._told = True
            self._trouble(waits[0].conversation, error)

    def _writes(self, envelope: Envelope) -> Iterator[Write]:
        event, name, job = envelope.event, envelope.conversation, envelope.job
        match event:
            case OutputDelta(message, text):
                yield AddPiece(name, message, text, "text", job)
            case ReasoningDelta(message, text):
                yield AddPiece(name, message, text, "thinking", job)
            case RequestRetried(message, discard_output=True):
                yield DropPieces(name, message, job)
            case MessageAdded(message):
                yield AddMessage(name, message, job)
            case ContextCompacted():
                yield from self._compacted(envelope, event)
            case RequestStarted(model, provider):
                self._models[name, job] = (model, provider)
            case UsageUpdated(turn_usage):
                # What a turn has used by now is known even if its process is killed.
                yield self._usage(envelope, turn_usage)
            case SessionStarted(root=root, resumed=resumed):
                if not resumed:
                    self._roots[name] = root
            case _:
                yield from self._prompt(envelope, event)

    def _compacted(self, envelope: Envelope, event: ContextCompacted) -> Iterator[Write]:
        """A child's view ends with it and is not stored. Outside a turn the summary is an expense of its own."""
        if envelope.job:
            return
        if event.steps:
            yield AddCompaction(envelope.conversation, event.record)
        if not envelope.turn and event.usage.requests:
            turn = turn_of(event.record.upto)
            yield SetUsage(envelope.conversation, turn, event.usage, new_id(), "summary")

    def _prompt(self, envelope: Envelope, event: Event) -> Iterable[Write]:
        """What becomes of prompts: they wait, are dropped, open a turn, and the turn ends."""
        match event:
            case TurnStarted(text, queued):
                return (self._opening(envelope, text), *_taken(envelope, queued))
            case PromptQueued(id, text, _, record):
                return (QueuePrompt(envelope.conversation, id, text, record),)
            case PromptEdited(id, text):
                return (EditPrompt(envelope.conversation, id, text),)
            case PromptDropped(id) | PromptTaken(id):
                return (DropPrompt(envelope.conversation, id),)
            case _:
                return self._end(envelope, event)

    def _opening(self, envelope: Envelope, text: str) -> OpenTurn:
        return OpenTurn(
            envelope.conversation,
            envelope.turn,
            text,
            self._holder,
            job=envelope.job,
            parent=envelope.parent,
            call=envelope.call,
            role=envelope.role,
            depth=bool(envelope.job) + bool(envelope.parent),
        )

    def _usage(self, envelope: Envelope, used: Usage) -> SetUsage:
        model, _ = self._models.get((envelope.conversation, envelope.job), ("", ""))
        return SetUsage(envelope.conversation, envelope.turn, used, envelope.job or "parent", envelope.role, model)

    def _end(self, envelope: Envelope, event: Event) -> Iterable[Write]:
        ended = _ended(event)
        if ended is None:
            return ()
        state, usage, why = ended
        # A turn that broke off in the middle does not know what it used; what was stored of that stays.
        used = (self._usage(envelope, usage),) if usage.requests else ()
        model, provider = self._models.pop((envelope.conversation, envelope.job), ("", ""))
        record = {**why, "model": model, "provider": provider, "usage": msgspec.to_builtins(usage)}
        return *used, CloseTurn(envelope.conversation, envelope.turn, state, envelope.job, record)


def _taken(envelope: Envelope, queued: str) -> Iterable[Write]:
    return (DropPrompt(envelope.conversation, queued),) if queued else ()


def _ended(event: Event) -> tuple[TurnState, Usage, dict[str, str]] | None:
    """The state of the turn that `event` ends, what it used, and why it ended."""
    match event:
        case TurnCompleted(stop_reason, usage):
            return "completed", usage, {"stop_reason": stop_reason}
        case TurnCancelled(usage):
            return "cancelled", usage, {"stop_reason": "cancelled"}
        case TurnFailed(error, usage):
            why = {"stop_reason": "error", "kind": error.kind, "code": error.code, "message": error.message}
            return "error", usage, why
        case _:
            return None


def _title(prompt: str) -> str:
    first = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"
