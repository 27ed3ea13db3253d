"""Stored conversations: begin, resume, load, list. One process writes a conversation at a time."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import apsw
from msgspec import Struct

from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentFailure, failure
from smith_server.core.messages import Message, Usage
from smith_server.store import compaction, conversations, lease, turns, usage
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import Holder
from smith_server.store.keys import new_id
from smith_server.store.lease import Lease
from smith_server.store.repair import repair


class Opened(Struct, frozen=True):
    """A conversation ready to go on; `stored` when it was there before.

    `waiting` are prompts (id, text) that no turn has taken up, `notes` what a person should know.
    """

    id: str
    root: Path
    messages: tuple[Message, ...] = ()
    next_turn: int = 1
    stored: bool = False
    title: str = ""
    waiting: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    role: str = ""
    model: str = ""
    lease: Lease | None = None
    compactions: tuple[Compaction, ...] = ()


class Shelf:
    """The conversations in the store, as one process uses them."""

    def __init__(self, database: Database, holder: Holder, face: str) -> None:
        self._database = database
        self._holder = holder
        self._face = face

    async def open(self, name: str, root: Path, *, resume: bool) -> Opened:
        """The conversation `name`; without one the last of the project if `resume`, else a fresh one.

        One that another living process writes is not opened: asked for by name that is an error
        (persistence/`held`), else a fresh one begins, with a note that says who has it. Raises a
        `schema` failure `not_found` for a name that is not stored.
        """
        if name:
            return await self._database.call(partial(self._load, name))
        if not resume:
            return Opened(new_id(), root)
        try:
            found = await self._database.call(partial(self._last, str(root)))
        except AgentFailure as problem:
            if problem.error.code != "held":
                raise
            return Opened(new_id(), root, notes=(f"{problem.error.message} This is a new conversation.",))
        return found or Opened(new_id(), root)

    async def fresh(self, root: Path) -> Opened:
        """A new conversation that somebody asked for: the project goes on with it from now on.

        One that merely begins becomes that with its first turn, see `Journal`.
        """
        opened = Opened(new_id(), root)
        await self._database.call(partial(conversations.point, root=str(root), conversation=opened.id))
        return opened

    async def listed(self, root: Path, limit: int) -> Sequence[Header]:
        """The conversations of a project, last used first."""
        return await self._database.call(partial(conversations.listed, root=str(root), limit=limit))

    async def beat(self, leases: Iterable[Lease]) -> None:
        """Say that this process lives and still writes these conversations."""
        await self._database.call(partial(lease.beat, leases=list(leases)))

    async def usage(self, name: str) -> Usage:
        """Everything that a conversation has used."""
        return await self._database.call(partial(usage.total, conversation=name))

    async def release(self, names: Iterable[str]) -> None:
        """Let other processes write these conversations."""
        if held := list(names):
            await self._database.call(partial(self._release, held))

    def _last(self, root: str, connection: apsw.Connection) -> Opened | None:
        name = conversations.pointer(connection, root)
        if name is None or conversations.get(connection, name) is None:
            return None
        return self._load(name, connection)

    def _load(self, name: str, connection: apsw.Connection) -> Opened:
        header = conversations.get(connection, name)
        if header is None:
            raise failure("schema", "not_found", f"There is no conversation {name!r}. /history lists them.")
        taken = lease.take(connection, name, self._holder, self._face)
        interrupted = repair(connection, name)
        transcript = conversations.load(connection, name)
        conversations.point(connection, header.root, name)
        notes = [problem.message for problem in transcript.problems]
        if interrupted:
            notes.append("The last turn was interrupted when smith ended; what it did until then is kept.")
        return Opened(
            name,
            Path(header.root),
            transcript.messages,
            turns.next_turn(connection, name),
            True,
            header.title,
            tuple((each.id, each.text) for each in turns.waiting(connection, name)),
            tuple(notes),
            header.role or "",
            header.model or "",
            taken,
            compaction.load(connection, name),
        )

    def _release(self, names: list[str], connection: apsw.Connection) -> None:
        for name in names:
            found = lease.held(connection, name)
            if found is not None and found.holder == self._holder:
                lease.release(connection, found)
