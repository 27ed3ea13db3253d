"""Stores events before they are shown: a batch is one commit, as many events as wait.

What is only shown waits for the store a quarter of a second at most, a call until the store has
given up, the end of a turn two seconds. What could not be stored stays in memory and is tried
again with the next batch; the person is told once.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
from msgspec import structs

from smith_server.core.errors import AgentError, AgentFailure, agent_error
from smith_server.core.events import Envelope, SessionStarted
from smith_server.core.messages import AssistantMessage
from smith_server.runtime.bus import ends_turn
from smith_server.runtime.records import Records
from smith_server.store import conversations, lease, turns
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import Holder
from smith_server.store.lease import Lease
from smith_server.store.transaction import transaction
from smith_server.store.writes import AddMessage, CloseTurn, OpenTurn, Write
from smith_server.workspace.project import find_project

SHOWN_SECONDS = 0.25
CALL_SECONDS = 6.0
END_SECONDS = 2.0
_TITLE = 80

Trouble = Callable[[str, AgentError], None]
"""Told of a conversation and what its store did; code `lease_lost` means that somebody else writes it now."""


class Journal:
    """The way of events into the store; see `runtime/bus.py` for who calls it."""

    def __init__(
        self, database: Database, holder: Holder, face: str, trouble: Trouble, *, unattended: bool = False
    ) -> None:
        self._database = database
        self._holder = holder
        self._face = face
        self._trouble = trouble
        self._unattended = unattended
        self._records = Records(holder)
        self._backlog: list[Write] = []
        self._storing: list[Write] = []
        self._ends = False
        self._task: asyncio.Task[None] | None = None
        self._roots: dict[str, str] = {}
        self._told = False
        self.leases: dict[str, Lease] = {}
        """The rights to write, by conversation; nothing is written without the one that was taken."""
        self._left: set[str] = set()

    async def keep(self, batch: list[Envelope]) -> None:
        """Store what `batch` means, as long as the store answers in time."""
        ends = any(map(ends_turn, batch))
        for envelope in batch:
            if envelope.conversation not in self._left:
                self._take(envelope)
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

    def _take(self, envelope: Envelope) -> None:
        match envelope.event:
            case SessionStarted(root=root, resumed=False):
                self._roots[envelope.conversation] = root
            case _:
                self._backlog += self._records.of(envelope)

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
            told = f"{error.message} What came after that is not stored."
            self._trouble(lost, structs.replace(error, message=told))
        return [write for write in writes if write.conversation not in self._left]

    def _apply(self, writes: list[Write], ends: bool, connection: apsw.Connection) -> None:
        with transaction(connection, ends):
            for write in writes:
                if isinstance(write, OpenTurn) and not write.job:
                    self._create(connection, write.conversation)
                    _entitle(connection, write.conversation, write.prompt)
                if _answers(write) if self._unattended else isinstance(write, OpenTurn) and not write.job:
                    self._use(connection, write.conversation)
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

    def _use(self, connection: apsw.Connection, name: str) -> None:
        """Make it the one to go on with: each turn does, where nobody looks on only one that is answered."""
        header = conversations.get(connection, name)
        if header is None:
            return
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


def _answers(write: Write) -> bool:
    """Whether it is of a turn that did not fail before there was an answer."""
    match write:
        case AddMessage(message=message, job=""):
            return isinstance(message, AssistantMessage)
        case CloseTurn(state=state, job=""):
            return state != "error"
        case _:
            return False


def _entitle(connection: apsw.Connection, name: str, prompt: str) -> None:
    """The first turn of a conversation gives it a title."""
    header = conversations.get(connection, name)
    if header is not None and not header.title:
        conversations.set_title(connection, name, _title(prompt))


def _title(prompt: str) -> str:
    first = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"
