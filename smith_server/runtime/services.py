"""All that one process shares, opened and closed in one place: settings, store, bus, conversations."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from smith_server.codebase.index import Index
from smith_server.config import secrets
from smith_server.config.layers import Loaded, Sources, read, reread, stamp
from smith_server.config.paths import Places
from smith_server.config.schema import Settings
from smith_server.core.cancel import CancelToken
from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentError, AgentFailure, failure, public
from smith_server.core.events import Envelope, Event, Notice, PersistenceFailed, SessionStarted, SessionStopped
from smith_server.core.messages import Usage
from smith_server.core.scope import TurnInput
from smith_server.policy.roles import Role, active_role
from smith_server.proc.guard import Guard
from smith_server.proc.run import Processes
from smith_server.runtime.assemble import Assembler, Face, Shared
from smith_server.runtime.bus import Bus
from smith_server.runtime.conversations import Opened, Shelf
from smith_server.runtime.journal import Journal
from smith_server.runtime.providers import Providers
from smith_server.runtime.repositories import ProjectMemory, Scratchpad
from smith_server.runtime.session import Prompt, Session
from smith_server.store import conversations, messages, overrides
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import this_process
from smith_server.store.search import Found, search
from smith_server.workspace.project import find_project

BEAT_SECONDS = 25.0


class Options(Struct, frozen=True):
    """How a process was started: places, environment, settings from flags, a named settings file.

    `resume` tells whether the first conversation of a project is its last one.
    """

    places: Places
    environ: Mapping[str, str]
    flags: dict[str, Any] = {}
    config_file: Path | None = None
    resume: bool = False


class Services:
    """Made by `open`; `bus` carries the events of all conversations."""

    bus: Bus

    def __init__(self, options: Options, face: Face) -> None:
        self._options = options
        self._face = face
        self._sessions: dict[str, Session] = {}
        self._current: dict[Path, str] = {}
        self._lock = asyncio.Lock()
        self._patch: Mapping[str, Any] = {}
        self._loaded: dict[Path, tuple[object, Loaded]] = {}
        self._warned: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Open the store and start passing events on.

        Raises `AgentFailure` for a store that must not be touched (newer, locked) and for a named
        settings file that is not there.
        """
        options = self._options
        own = read(self._sources(options.places.config))
        self._database = await Database.open(options.places.database)
        self._patch = (await self._database.call(overrides.load)).tree
        holder = this_process()
        self._journal = Journal(self._database, holder, self._face.name, self._trouble)
        self.bus = Bus(self._journal)
        self.bus.start()
        self._shelf = Shelf(self._database, holder, self._face.name)
        self._providers = Providers(options.environ)
        self._guard = Guard()
        hidden = secrets.variables_of(own.settings)
        self._processes = Processes(self._guard, hidden)
        shared = Shared(
            self._face,
            self._providers,
            self._processes,
            self.settings,
            options.environ,
            self._database,
            self.bus.emit,
            self._stored,
            Index(options.places.cache / "symbols"),
        )
        self._assembler = Assembler(shared)
        self._in_background(self._beat(), "heartbeat")

    async def close(self, reason: str = "") -> None:
        """Stop every turn, store what happened, end every child."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        for session in self._sessions.values():
            self._post(session.id, SessionStopped(reason=reason))
        for task in list(self._tasks):
            task.cancel()
        await self._processes.close()
        self._guard.close()
        await self.bus.stop()
        await self._shelf.release(self._sessions)
        await self._providers.close()
        await self._database.close()

    def settings(self, root: Path) -> Settings:
        """The settings for a project, read again when a file changed."""
        return self.loaded(root).settings

    def loaded(self, root: Path) -> Loaded:
        """The same with origins and problems. What becomes unsafe later leaves the last good settings in force."""
        options = self._options
        now = stamp(options.places, root, options.config_file)
        known = self._loaded.get(root)
        if known is None or known[0] != now:
            sources = self._sources(root)
            found = read(sources) if known is None else reread(sources, known[1])
            known = self._loaded[root] = (now, found)
        return known[1]

    def _sources(self, root: Path) -> Sources:
        options = self._options
        return Sources(
            options.places,
            root,
            options.environ,
            options.config_file,
            self._patch,
            {"command line": options.flags},
        )

    async def session(self, conversation: str, root: Path) -> Session:
        """The conversation asked for ("" for the current one of the project), opened if it is not open."""
        async with self._lock:
            name = conversation or self._current.get(root, "")
            if name in self._sessions:
                self._current[self._sessions[name].root] = name
                return self._sessions[name]
            return await self._start(await self._shelf.open(name, root, resume=self._options.resume))

    async def new_session(self, root: Path) -> Session:
        """Begin a conversation; it is the project's current one from now on."""
        async with self._lock:
            return await self._start(await self._shelf.fresh(root))

    def sessions(self) -> Iterable[Session]:
        """The open conversations."""
        return list(self._sessions.values())

    def known(self, conversation: str) -> Session | None:
        """An open conversation by id."""
        return self._sessions.get(conversation)

    def running(self, conversation: str, turn: str) -> Session | None:
        """The conversation to stop: the one named, or the one that is busy."""
        if conversation:
            return self.known(conversation)
        busy = [session for session in self._sessions.values() if session.busy]
        return next((session for session in busy if not turn or session.turn == turn), None)

    async def conversations(self, root: Path, limit: int) -> Sequence[Header]:
        """The stored conversations of a project, newest first."""
        await self.bus.told()
        return await self._shelf.listed(root, limit)

    async def full_id(self, beginning: str, root: Path) -> str:
        """The one conversation whose id begins so. Raises a `schema` failure when there is not exactly one."""
        ids = [row.id for row in await self.conversations(root, 1000) if row.id.startswith(beginning)]
        if len(ids) != 1:
            text = f"{beginning!r} fits {len(ids) or 'no'} conversations of this project. /history lists them."
            raise failure("schema", "not_found", text)
        return ids[0]

    async def usage(self, conversation: str) -> Usage:
        """The tokens of a conversation."""
        await self.bus.told()
        return await self._shelf.usage(conversation)

    async def system_prompt(self, session: Session) -> str:
        """What the next turn would send first."""
        return await self._assembler.system_prompt(session, self.role(session))

    def role(self, session: Session) -> Role:
        """The role of the next turn: the one chosen for the conversation, else the configured one."""
        return active_role(session.role, self.settings(session.root).active_role or "")

    def scratchpad(self, session: Session) -> Scratchpad:
        """What a conversation keeps."""
        return Scratchpad(self._database, session.id)

    async def memory(self, session: Session) -> ProjectMemory | None:
        """What the project of a conversation remembers; None without a project that has an identity."""
        project = await asyncio.to_thread(find_project, session.root)
        return ProjectMemory(self._database, project.id) if project is not None and project.id else None

    async def search(self, words: str, root: Path | None) -> Found:
        """What is stored and holds these words, in a project or anywhere (None)."""
        await self.bus.told()
        project = await asyncio.to_thread(find_project, root) if root is not None else None
        identity = project.id if project is not None and project.id else None
        place = str(root) if root is not None else None
        return await self._database.call(partial(search, query=words, project=identity, root=place))

    async def choose_role(self, session: Session, role: str) -> None:
        """The role of a conversation from the next turn on."""
        session.role = role
        await self._database.call(partial(conversations.set_role, conversation=session.id, role=role))

    async def choose_model(self, session: Session, model: str) -> None:
        """The model of a conversation from the next turn on."""
        session.model = model
        await self._database.call(partial(conversations.set_model, conversation=session.id, model=model))

    async def rename(self, session: Session, title: str) -> None:
        """The title of a conversation."""
        await self._database.call(partial(conversations.set_title, conversation=session.id, title=title))

    async def clear(self, session: Session) -> int:
        """Empty a conversation; how many messages are gone."""
        count = await self._database.call(partial(messages.clear, conversation=session.id))
        session.talk.messages.clear()
        return count

    async def overrides(self) -> Mapping[str, Any]:
        """The settings that were changed at run time, as a tree."""
        return self._patch

    async def override(self, patch: Mapping[str, Any]) -> None:
        """Store such a tree; it holds from the next turn on."""
        await self._database.call(partial(overrides.save, tree=patch))
        self._patch = patch
        self._loaded.clear()

    def warm(self, root: Path) -> None:
        """Open the connection to the provider in the background. What goes wrong here shows with the prompt."""
        self._in_background(self._warm(root), "warm")

    def _in_background(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _beat(self) -> None:
        """Other machines see by this that the conversations held here are at work."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(AgentFailure):
                await self._shelf.beat(self._journal.leases.values())

    async def _warm(self, root: Path) -> None:
        with suppress(AgentFailure):
            await self._providers.warm(self.settings(root))

    async def _start(self, opened: Opened) -> Session:
        talk = Conversation(opened.messages, opened.next_turn)
        session = Session(opened.id, opened.root, talk, self.bus, self._prepare)
        session.hold(opened.waiting)
        session.role, session.model = opened.role, opened.model
        if opened.lease is not None:
            self._journal.leases[session.id] = opened.lease
        self._sessions[session.id] = session
        self._current[session.root] = session.id
        self._post(session.id, SessionStarted(root=str(session.root), resumed=opened.stored, title=opened.title))
        store = [warning.message for warning in self._database.warnings]
        self._warn(session, [*store, self._options.places.note, *self.loaded(session.root).problems, *opened.notes])
        return session

    def _warn(self, session: Session, texts: Iterable[str]) -> None:
        """Tell what a person has to know, each sentence once."""
        fresh = [text for text in texts if text and text not in self._warned]
        self._warned.update(fresh)
        for text in fresh:
            self._post(session.id, Notice(level="warning", text=text))

    async def _prepare(self, session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        self._warn(session, self.loaded(session.root).problems)
        return await self._assembler.turn_input(session, self.role(session), prompt, token)

    async def _stored(self) -> None:
        await self.bus.told()
        await self._journal.settled()

    def _trouble(self, conversation: str, error: AgentError) -> None:
        self._post(conversation, PersistenceFailed(error=public(error)))

    def _post(self, conversation: str, event: Event) -> None:
        session = self._sessions.get(conversation)
        self.bus.emit(Envelope(conversation, session.turn if session else "", event))
