"""The conversations that are open in this process: opened, looked at, taken over, copied, removed, changed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from smith_server.core.cancel import CancelToken
from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentError, AgentFailure, failure
from smith_server.core.events import (
    ConversationChanged,
    Envelope,
    Event,
    SessionStarted,
    SessionStopped,
    TodosUpdated,
)
from smith_server.core.late import late
from smith_server.core.scope import TurnInput
from smith_server.core.todos import Todo
from smith_server.runtime.assemble import Assembler
from smith_server.runtime.bus import Bus
from smith_server.runtime.conversations import Opened, Standing
from smith_server.runtime.handles import Handles
from smith_server.runtime.journal import Journal
from smith_server.runtime.library import Library
from smith_server.runtime.line import Prompt
from smith_server.runtime.notices import Notices
from smith_server.runtime.options import Options
from smith_server.runtime.repositories import Todos
from smith_server.runtime.session import Session
from smith_server.store.lease import Lease, facts

if TYPE_CHECKING:
    from smith_server.runtime.following import Following
    from smith_server.runtime.replay import Replayed

T = TypeVar("T")

_following: "Callable[..., Following]" = late("smith_server.runtime.following:Following")
_replayed: "Callable[..., Replayed]" = late("smith_server.runtime.replay:replayed")

_STANDING_SECONDS = 0.25
_TRIES = 3
"""How often a page is read again because something was added while it was read."""


class Stage:
    """What open conversations stand on: the services, the way of their events into the store and to the faces."""

    def __init__(self, handles: Handles, bus: Bus, journal: Journal, assembler: Assembler) -> None:
        self.handles = handles
        self.bus = bus
        self.journal = journal
        self.assembler = assembler
        self.library = Library(handles.persistence)


class Sessions:
    """The open conversations by id; one of them is the current one of each project."""

    def __init__(self, options: Options, stage: Stage) -> None:
        self._options = options
        self._stage = stage
        self._shelf = stage.handles.conversation
        self._open: dict[str, Session] = {}
        self._current: dict[Path, str] = {}
        self._lock = asyncio.Lock()
        self._notices = Notices(stage.handles, options.places.note, self.post)
        self._first = options.conversation
        self._following: Following | None = None
        """Made when something is looked at."""

    def all(self) -> Iterable[Session]:
        """Those that are open."""
        return list(self._open.values())

    def known(self, conversation: str) -> Session | None:
        """An open one by id."""
        return self._open.get(conversation)

    async def get(self, conversation: str, root: Path, *, here: bool = False) -> Session:
        """The conversation asked for ("" for the current one of the project), opened if it is not open.

        `here` lets it belong to `root` from now on. What another process has taken over meanwhile is looked at from
        now on, and what nobody writes any more can be written again.
        """
        async with self._lock:
            name = conversation or self._current.get(root, "")
            known = await self._still(name)
            if known is not None and here and known.root != root:
                await self._stage.journal.begin(name)
                await self._put_away(known)
                known = None
            if known is None and not name and self._first:
                return await self._begin(root)
            if known is None:
                opened = await self._shelf.open(name, root, resume=self._resumes(root), here=here)
                return await self._start(opened)
            self._current[known.root] = name
            return known

    async def _begin(self, root: Path) -> Session:
        """Open the conversation that this process was started for, the current one of `root` whatever its own is.

        Where it cannot be opened, what would be without it begins, with a word about that. Raises schema/`ambiguous`
        once, when the begin of an id was given and several begin so.
        """
        beginning, self._first = self._first, ""
        try:
            name = (await self._stage.library.find(beginning)).id
            opened = await self._shelf.open(name, root, resume=True)
        except AgentFailure as problem:
            if problem.error.code not in ("not_found", "root_gone"):
                raise
            opened = await self._shelf.open("", root, resume=self._resumes(root))
            opened = structs.replace(opened, notes=(*opened.notes, problem.error.message))
        session = await self._start(opened)
        self._current[root] = session.id
        return session

    def _resumes(self, root: Path) -> bool:
        asked = self._options.resume
        return self._stage.handles.config.settings(root).terminal.resume == "project" if asked is None else asked

    async def new(self, root: Path) -> Session:
        """Begin a conversation; it is the project's current one from now on."""
        async with self._lock:
            return await self._start(await self._shelf.fresh(root))

    async def take_over(self, conversation: str) -> Session:
        """The conversation, to be written here from now on, whoever writes it.

        Raises persistence/`held` while a turn runs there.
        """
        async with self._lock:
            known = await self._still(conversation)
            if known is not None and known.holder is None:
                return known
            opened = await self._shelf.take_over(conversation)
            if known is not None:
                await self._put_away(known)
            return await self._start(opened)

    async def fork(self, conversation: str, upto: str = "", to: Path | None = None) -> Session:
        """Go on in a copy of a conversation, whoever writes it: whole, or up to the message `upto` with its results.

        The copy belongs to the same root, or to `to`. Raises schema/`not_found`, policy/`root_gone`.
        """
        await self._stage.bus.told()
        known = self.known(conversation)
        if known is not None and known.holder is None:
            await self._stage.journal.begin(conversation)
        name = await self._shelf.fork(conversation, upto or None, is_moved=to is not None)
        return await self.get(name, to or Path(), here=to is not None)

    async def delete(self, conversation: str) -> bool:
        """Remove a conversation and all that belongs to it; whether it was open here.

        Raises policy/`turn_active` while a turn of it runs, policy/`read_only` or persistence/`held` when another
        process has it, schema/`not_found`.
        """
        async with self._lock:
            await self._stage.bus.told()
            known = await self._still(conversation)
            if known is not None:
                await known.alone(lambda token: self._remove(known))
                known.emit(ConversationChanged(change="deleted"))
                await self._put_away(known, "it was deleted")
                await self._stage.bus.told()
            elif not await self._shelf.delete(conversation):
                raise failure("schema", "not_found", f"There is no conversation {conversation!r}. /history lists them.")
            return known is not None

    async def _remove(self, session: Session) -> None:
        await self._shelf.delete(session.id)
        session.line.leave()

    async def rename(self, conversation: str, title: str) -> None:
        """Give a conversation another title, open or not, also before its first turn.

        Raises policy/`read_only` or persistence/`held` when another process has it, schema/`not_found`.
        """
        async with self._lock:
            known = await self._still(conversation)
            if known is not None:
                known.require_writable()
                await self._stage.bus.told()
                await self._stage.journal.begin(conversation)
            await self._shelf.rename(conversation, title)
            if known is not None:
                known.title = title
                known.emit(ConversationChanged(change="renamed", title=title))

    async def rewrite(self, session: Session, change: Callable[[Lease | None], Awaitable[T]]) -> T:
        """Change stored messages: no turn runs, everything said is stored, and afterwards the conversation is what
        the store says. `change` gets the right under which to write, None when nothing is stored yet."""
        stage = self._stage

        async def work(token: CancelToken) -> T:
            await stage.bus.told()
            await stage.journal.settled()
            result = await change(stage.journal.leases.get(session.id))
            session.talk.messages[:] = await stage.library.messages(session.id)
            session.compactions[:] = await stage.library.compactions(session.id)
            stage.assembler.keeping.forget_view(session.id)
            return result

        result = await session.alone(work)
        session.emit(ConversationChanged(change="rewritten"))
        return result

    async def replay(self, session: Session, before: str, limit: int) -> "Replayed":
        """The newest `limit` messages in front of the message `before` ("" for all) as events; see `Page`.

        Exact: with what is told after this returns nothing is missing and nothing comes twice.
        """
        bus = self._stage.bus
        for _ in range(_TRIES):
            marks = bus.marks
            page = await self._stage.library.page(session.id, limit, before)
            if bus.marks == marks:
                break
        untold = [each for each in bus.untold() if each.conversation == session.id]
        seen = self._following.seen(session.id) if self._following is not None else None
        return _replayed(session, page, untold, seen, is_newest=not before)

    def lost(self, conversation: str, error: AgentError) -> Session | None:
        """Another process has taken a conversation over: stop what runs of it, at once. The caller awaits `fail`."""
        known = self.known(conversation)
        if known is not None:
            known.lose(error)
        return known

    async def close(self, reason: str) -> None:
        """End the work of all conversations, and say so."""
        if self._following is not None:
            self._following.stop()
        await asyncio.gather(*(session.close(reason) for session in self._open.values()))
        for session in self._open.values():
            self.post(session.id, SessionStopped(reason=reason))

    def names(self) -> Iterable[str]:
        """The ids of those that are open."""
        return self._open.keys()

    def post(self, conversation: str, event: Event) -> None:
        """Post an event of a conversation, and of its running turn if there is one."""
        known = self.known(conversation)
        self._stage.bus.emit(Envelope(conversation, known.turn if known else "", event))

    async def _still(self, name: str) -> Session | None:
        """An open conversation as far as it is what it was when it was opened; else it is put away."""
        known = self._open.get(name)
        if known is None or (known.busy and known.life.status == "running"):
            return known
        held = self._stage.journal.leases.get(name)
        standing = await self._standing(held, known.holder)
        if standing == "same" and known.life.status == "running":
            return known
        if standing == "lost" and held is not None and known.life.status == "running":
            await known.fail(await self._shelf.why_lost(held))
        await self._put_away(known)
        return None

    async def _standing(self, held: Lease | None, holder: Lease | None) -> Standing:
        """What became of a conversation; a store that does not answer holds nobody back, writing finds out as well."""
        asked = asyncio.ensure_future(self._shelf.standing(held, holder))
        await asyncio.wait([asked], timeout=_STANDING_SECONDS)
        if asked.done() and asked.exception() is None:
            return asked.result()
        asked.add_done_callback(lambda late: late.cancelled() or late.exception())
        return "same"

    async def _put_away(self, session: Session, reason: str = "") -> None:
        """Forget an open conversation; it may be opened again."""
        if session.busy:
            raise failure("policy", "turn_active", "A turn is running. Cancel it first.")
        await session.close(reason)
        await self._stage.handles.tool.forget_jobs(session.id)
        if reason:
            self.post(session.id, SessionStopped(reason=reason))
        await self._stage.bus.told()
        self._stage.journal.look_on(session.id)
        self._stage.assembler.keeping.forget(session.id)
        if self._following is not None:
            self._following.leave(session.id)
        del self._open[session.id]
        self._current = {root: name for root, name in self._current.items() if name != session.id}

    async def _start(self, opened: Opened) -> Session:
        talk = Conversation(opened.messages, opened.next_turn)
        session = Session(opened.id, opened.root, talk, self._stage.bus, self._prepare)
        session.line.hold(opened.waiting)
        session.role, session.model, session.title = opened.role, self._options.model or opened.model, opened.title
        session.provider = "" if self._options.model else opened.provider
        session.compactions.extend(opened.compactions)
        session.holder = opened.holder
        for text in opened.told:
            session.line.inbox.note(text)
        self._open[session.id] = session
        self._current[session.root] = session.id
        session.start()
        self._write_or_follow(session, opened)
        holder = facts(opened.holder) if opened.holder is not None else {}
        started = SessionStarted(str(session.root), opened.stored, opened.title, holder)
        self.post(session.id, started)
        if opened.stored and (plan := await self._todos(session)):
            self.post(session.id, TodosUpdated(todos=tuple(plan)))
        self._notices.of_opening(session.id, session.root, opened.notes)
        return session

    async def _todos(self, session: Session) -> Sequence[Todo]:
        return await Todos(self._stage.handles.persistence, session.id, "", session.emit).list()

    def _write_or_follow(self, session: Session, opened: Opened) -> None:
        if opened.holder is not None:
            assert opened.cursor is not None, "what is looked at is followed"
            self._stage.journal.look_on(session.id)
            if self._following is None:
                self._following = _following(self._stage.handles.persistence, self._stage.bus.emit)
            self._following.follow(session, opened.cursor, opened.running)
        elif opened.lease is not None:
            self._stage.journal.write(opened.lease)

    async def _prepare(self, session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        self._notices.of_settings(session.id, session.root)
        return await self._stage.assembler.turn_input(session, prompt, token)
