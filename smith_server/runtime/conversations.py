"""The service `conversation`: what is stored, opened for a process. One process writes a conversation at a time."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import apsw
from msgspec import Struct, structs

from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentError, AgentFailure, failure
from smith_server.core.late import late
from smith_server.core.messages import Message, Usage
from smith_server.runtime.line import Prompt, restored
from smith_server.store import compaction, conversations, lease, turns, usage
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import Holder
from smith_server.store.keys import new_id
from smith_server.store.lease import Lease
from smith_server.store.transaction import transaction
from smith_server.workspace.project import find_project

if TYPE_CHECKING:
    from smith_server.store.follow import Changes, Cursor
    from smith_server.store.pages import Page

_fork: Callable[..., None] = late("smith_server.store.fork:fork")
_repair: Callable[[apsw.Connection, str], tuple[str, ...]] = late("smith_server.store.repair:repair")
_cursor: "Callable[[apsw.Connection, str], Cursor]" = late("smith_server.store.follow:cursor")
_changes: "Callable[[apsw.Connection, str, Cursor], Changes]" = late("smith_server.store.follow:changes_since")
_page: "Callable[..., Page]" = late("smith_server.store.pages:page")


class Opened(Struct, frozen=True):
    """A conversation ready to go on; `stored` when it was there before.

    `waiting` are prompts that no turn has taken up, by id, `notes` what a person should know, `told` what the model
    should. One that another process writes has that `holder` instead of a `lease`,
    a `cursor` to follow it from, and what is said of its `running` turn (None: none runs).
    """

    id: str
    root: Path
    messages: tuple[Message, ...] = ()
    next_turn: int = 1
    stored: bool = False
    title: str = ""
    waiting: tuple[tuple[str, Prompt], ...] = ()
    notes: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    role: str = ""
    model: str = ""
    compactions: tuple[Compaction, ...] = ()
    provider: str = ""
    lease: Lease | None = None
    holder: Lease | None = None
    cursor: "Cursor | None" = None
    running: "Page | None" = None


Standing = Literal["same", "lost", "free"]


class Shelf:
    """The conversations in the store, as one process uses them."""

    def __init__(self, database: Database, holder: Holder, face: str) -> None:
        self._database = database
        self._holder = holder
        self._face = face

    async def open(self, name: str, root: Path, *, resume: bool, here: bool = False) -> Opened:
        """The conversation `name`; without one the last of the project if `resume`, else a fresh one.

        One that another living process writes is only looked at when it was asked for by name; else a fresh one
        begins, with a note that says who has it. `here` moves it to `root`. Raises schema/`not_found` for a name that
        is not stored, policy/`root_gone` when its folder is not there any more, persistence/`held` for a move of what
        somebody else has.
        """
        if name:
            return await self._database.call(partial(self._open, name, root if here else None))
        if not resume:
            return Opened(new_id(), root)
        try:
            found = await self._database.call(partial(self._last, str(root)))
        except AgentFailure as problem:
            if problem.error.code != "held":
                raise
            return Opened(new_id(), root, notes=(f"{problem.error.message} This is a new conversation.",))
        return found or Opened(new_id(), root)

    async def take_over(self, name: str) -> Opened:
        """The conversation `name`, taken from whoever writes it. Raises persistence/`held` while a turn runs there,
        schema/`not_found`, policy/`root_gone`."""
        return await self._database.call(partial(self._load, name, take=lease.take_over))

    async def fork(self, source: str, upto: str | None, *, is_moved: bool = False) -> str:
        """The id of a new conversation, a copy of `source` up to the message `upto`; see `store/fork.py`.

        Raises policy/`root_gone` unless the copy is moved.
        """
        name = new_id()
        await self._database.call(partial(_forked, source=source, new=name, upto=upto, is_moved=is_moved))
        return name

    async def delete(self, name: str) -> bool:
        """Remove a conversation for good; False when it was never stored.

        Raises persistence/`held` for one that another living process writes, policy/`turn_active` while a turn runs.
        """
        return await self._database.call(partial(self._delete, name))

    async def rename(self, name: str, title: str) -> None:
        """Give a stored conversation a title. Raises schema/`not_found`, persistence/`held`."""
        await self._database.call(partial(self._rename, name, title))

    async def standing(self, held: Lease | None, holder: Lease | None) -> Standing:
        """What became of a conversation since it was opened under `held`, or looked at while `holder` had it.

        `lost`: another process writes it now. `free`: nobody does any more.
        """
        if held is None and holder is None:
            return "same"
        return await self._database.call(partial(_standing, held=held, holder=holder))

    async def why_lost(self, held: Lease) -> AgentError:
        """The error of somebody who goes on writing under a right that is lost."""
        try:
            await self._database.call(partial(lease.require, tokens={held.conversation: held.token}))
        except AgentFailure as problem:
            return problem.error
        return failure("persistence", "lease_lost", "This conversation is not open here any more.").error

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

    async def beat(self, leases: Iterable[Lease]) -> Sequence[Lease]:
        """Say that this process lives and still writes these conversations; those that it lost."""
        return await self._database.call(partial(lease.beat, leases=list(leases)))

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

    def _open(self, name: str, to: Path | None, connection: apsw.Connection) -> Opened:
        moved = self._move(name, to, connection) if to is not None else ""
        try:
            opened = self._load(name, connection)
        except AgentFailure as problem:
            if problem.error.code != "held" or moved:
                raise
            return _looked_at(connection, name, problem)
        return structs.replace(opened, told=(moved,)) if moved else opened

    def _move(self, name: str, to: Path, connection: apsw.Connection) -> str:
        """Let it belong to another place; what the model is told of that, "" when it was there already."""
        before = _header(connection, name).root
        if before == str(to):
            return ""
        project = find_project(to)
        with transaction(connection):
            lease.take(connection, name, self._holder, self._face)
            conversations.move(connection, name, str(to), project.id if project is not None and project.id else None)
            if conversations.pointer(connection, before) == name:
                conversations.point(connection, before, None)
        return f"[This conversation was moved from {before} to {to}: you work in {to} from now on.]"

    def _load(self, name: str, connection: apsw.Connection, take: Callable[..., Lease] = lease.take) -> Opened:
        header = _header(connection, name)
        _require_root(header)
        taken = take(connection, name, self._holder, self._face)
        interrupted = _repair(connection, name)
        opened = _read(connection, header)
        conversations.point(connection, header.root, name)
        notes = list(opened.notes)
        if interrupted:
            notes.append("The last turn was interrupted when smith ended; what it did until then is kept.")
        return structs.replace(opened, notes=tuple(notes), lease=taken)

    def _delete(self, name: str, connection: apsw.Connection) -> bool:
        with transaction(connection):
            if conversations.get(connection, name) is None:
                conversations.unpoint(connection, name)
                return False
            lease.take(connection, name, self._holder, self._face)
            _repair(connection, name)
            return conversations.delete(connection, name)

    def _rename(self, name: str, title: str, connection: apsw.Connection) -> None:
        with transaction(connection):
            _header(connection, name)
            before = lease.held(connection, name)
            mine = lease.take(connection, name, self._holder, self._face)
            conversations.set_title(connection, name, title)
            if before is None:
                lease.release(connection, mine)

    def _release(self, names: list[str], connection: apsw.Connection) -> None:
        for name in names:
            found = lease.held(connection, name)
            if found is not None and found.holder == self._holder:
                lease.release(connection, found)


def _header(connection: apsw.Connection, name: str) -> Header:
    """Raises schema/`not_found`."""
    header = conversations.get(connection, name)
    if header is None:
        raise failure("schema", "not_found", f"There is no conversation {name!r}. /history lists them.")
    return header


def _require_root(header: Header) -> None:
    if not Path(header.root).is_dir():
        text = f"The folder of this conversation is not there: {header.root}. Bring it back, or go on with it here."
        raise failure("policy", "root_gone", text, conversation=header.id, root=header.root)


def _read(connection: apsw.Connection, header: Header) -> Opened:
    """What is stored of a conversation, all but the right to write it."""
    transcript = conversations.load(connection, header.id)
    return Opened(
        header.id,
        Path(header.root),
        transcript.messages,
        turns.next_turn(connection, header.id),
        True,
        header.title,
        tuple((each.id, restored(each.text, each.record)) for each in turns.waiting(connection, header.id)),
        tuple(problem.message for problem in transcript.problems),
        role=header.role or "",
        model=header.model or "",
        compactions=compaction.load(connection, header.id),
        provider=header.provider or "",
    )


def _looked_at(connection: apsw.Connection, name: str, held: AgentFailure) -> Opened:
    """A conversation that another process writes. The cursor comes first: what is added meanwhile is told twice."""
    holder, cursor = lease.held(connection, name), _cursor(connection, name)
    if holder is None:
        raise held
    header = _header(connection, name)
    _require_root(header)
    opened = _read(connection, header)
    is_running = _changes(connection, name, cursor).is_running
    running = _page(connection, name, limit=1) if is_running else None
    return structs.replace(opened, waiting=(), holder=holder, cursor=cursor, running=running)


def _forked(connection: apsw.Connection, source: str, new: str, upto: str | None, *, is_moved: bool) -> None:
    if not is_moved:
        _require_root(_header(connection, source))
    _fork(connection, source, new, upto)


def _standing(connection: apsw.Connection, held: Lease | None, holder: Lease | None) -> Standing:
    if held is not None:
        try:
            lease.require(connection, {held.conversation: held.token})
        except AgentFailure:
            return "lost"
        return "same"
    assert holder is not None, "one of the two is given"
    return "same" if lease.held(connection, holder.conversation) is not None else "free"
