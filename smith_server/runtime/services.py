"""What one process has open: its conversations, the bus between them and the faces, and the services they use."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from smith_server.config import secrets
from smith_server.core.cancel import CancelToken
from smith_server.core.compaction import Compaction
from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentError, AgentFailure, public
from smith_server.core.events import (
    Envelope,
    Event,
    Notice,
    PersistenceFailed,
    SessionStarted,
    SessionStopped,
    TodosUpdated,
)
from smith_server.core.scope import TurnInput
from smith_server.core.space import Space
from smith_server.core.todos import Todo
from smith_server.policy.roles import Role
from smith_server.proc.jobs import Jobs
from smith_server.runtime.assemble import Assembler, Ways
from smith_server.runtime.bus import Bus
from smith_server.runtime.completion import Completion
from smith_server.runtime.conversations import Opened
from smith_server.runtime.handles import Handles
from smith_server.runtime.journal import Journal
from smith_server.runtime.library import Library
from smith_server.runtime.options import Options
from smith_server.runtime.repositories import ProjectMemory, Todos
from smith_server.runtime.session import Prompt, Session
from smith_server.store.holder import Holder
from smith_server.store.search import Found
from smith_server.tools.bash import Bash

BEAT_SECONDS = 25.0


class Services:
    """Made and opened by `composition.compose`. `handles` are the ten services; `bus` carries the events of all
    conversations; `library` is what is stored."""

    def __init__(self, options: Options, handles: Handles, holder: Holder) -> None:
        self._options = options
        self._sessions: dict[str, Session] = {}
        self._current: dict[Path, str] = {}
        self._lock = asyncio.Lock()
        self._warned: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._journal = Journal(handles.persistence, holder, handles.ui.name, self._trouble)
        self.handles = handles
        self.bus = Bus(self._journal)
        self.library = Library(handles.persistence)
        self._assembler = Assembler(handles, options.environ, Ways(self.bus.emit, self._stored))

    def start(self) -> None:
        """Begin to pass events on."""
        self.bus.start()
        self._in_background(self._beat(), "heartbeat")

    async def close(self, reason: str = "") -> None:
        """Stop every turn, store what happened, end every child."""
        await asyncio.gather(*(session.close(reason) for session in self._sessions.values()))
        await self.handles.tool.end_jobs()
        for session in self._sessions.values():
            self._post(session.id, SessionStopped(reason=reason))
        for task in list(self._tasks):
            task.cancel()
        handles = self.handles
        await handles.tool.close()
        await self.bus.stop()
        await handles.conversation.release(self._sessions)
        await handles.model.close()
        await handles.persistence.close()

    async def session(self, conversation: str, root: Path) -> Session:
        """The conversation asked for ("" for the current one of the project), opened if it is not open."""
        async with self._lock:
            name = conversation or self._current.get(root, "")
            if name in self._sessions:
                self._current[self._sessions[name].root] = name
                return self._sessions[name]
            opened = await self.handles.conversation.open(name, root, resume=self._resumes(root))
            return await self._start(opened)

    def _resumes(self, root: Path) -> bool:
        asked = self._options.resume
        return self.handles.config.settings(root).terminal.resume == "project" if asked is None else asked

    async def new_session(self, root: Path) -> Session:
        """Begin a conversation; it is the project's current one from now on."""
        async with self._lock:
            return await self._start(await self.handles.conversation.fresh(root))

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
        busy = [session for session in self._sessions.values() if session.busy or session.errands]
        return next((session for session in busy if not turn or session.turn == turn), None)

    async def run_line(self, line: str, session: Session) -> Any:
        """Run a line that begins with `/`; everything said so far is stored when it runs."""
        await self.bus.told()
        return await self.handles.command.run(line, session, self)

    async def complete(self, line: str, cursor: int, session: Session) -> Completion:
        """What may stand at the `cursor` (code points) of a command line."""
        return await self.handles.command.complete(line, cursor, session, self)

    def shell(self, session: Session) -> Bash:
        """What runs a command for the person in a conversation."""
        return self._assembler.shell(session)

    async def system_prompt(self, session: Session) -> str:
        """What the next turn would send first."""
        return await self._assembler.system_prompt(session)

    async def compact(self, session: Session) -> Compaction:
        """Shorten now what is sent of a conversation. Raises `turn_active`, `Cancelled`, or that there is no model."""
        return await session.alone(lambda token: self._assembler.compact(session, token))

    async def space(self, session: Session) -> Space:
        """What takes the space of the next request."""
        return await self._assembler.space(session)

    def role(self, session: Session) -> Role:
        """The role of the next turn: the one chosen for the conversation, else the configured one."""
        configured = self.handles.config.settings(session.root).active_role or ""
        return self.handles.role.active(session.role, configured)

    async def todos(self, session: Session) -> Sequence[Todo]:
        """The plan of a conversation."""
        return await Todos(self.handles.persistence, session.id, "", session.emit).list()

    def jobs(self, session: Session) -> Jobs:
        """The commands of a conversation that run in the background."""
        return self.handles.tool.jobs(session.id)

    def mask(self, session: Session) -> Callable[[str], str]:
        """What blanks the values of keys in a text that is shown."""
        settings = self.handles.config.settings(session.root)
        return secrets.mask(self._options.environ, secrets.variables_of(settings))

    async def memory(self, session: Session) -> ProjectMemory | None:
        """What the project of a conversation remembers; None without a project that has an identity."""
        return await self._assembler.memory(session.root)

    async def search(self, words: str, root: Path | None) -> Found:
        """What is stored and holds these words, in a project or anywhere (None)."""
        project = (await self._assembler.scope(root)).project_id if root is not None else ""
        return await self.library.search(words, project, root)

    async def keep(self, session: Session) -> None:
        """See that a conversation is stored, so that something of it can be kept."""
        await self._journal.begin(session.id)

    def folder(self, name: str) -> Path:
        """Where files of this installation are kept that nobody else needs."""
        return self._options.places.state / name

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
                await self.handles.conversation.beat(self._journal.leases.values())

    async def _warm(self, root: Path) -> None:
        with suppress(AgentFailure):
            await self.handles.model.warm(self.handles.config.settings(root))

    async def _start(self, opened: Opened) -> Session:
        talk = Conversation(opened.messages, opened.next_turn)
        session = Session(opened.id, opened.root, talk, self.bus, self._prepare)
        session.hold(opened.waiting)
        session.role, session.model = opened.role, self._options.model or opened.model
        session.compactions.extend(opened.compactions)
        if opened.lease is not None:
            self._journal.leases[session.id] = opened.lease
        self._sessions[session.id] = session
        self._current[session.root] = session.id
        session.start()
        self._post(session.id, SessionStarted(root=str(session.root), resumed=opened.stored, title=opened.title))
        if opened.stored and (plan := await self.todos(session)):
            self._post(session.id, TodosUpdated(todos=tuple(plan)))
        self._warn(session, [*self._notes(session.root), *opened.notes])
        return session

    def _notes(self, root: Path) -> Iterable[str]:
        """What is to be told of store, places and settings."""
        yield from (warning.message for warning in self.handles.persistence.warnings)
        yield self._options.places.note
        yield from self.handles.config.loaded(root).problems

    def _warn(self, session: Session, texts: Iterable[str]) -> None:
        """Tell what a person has to know, each sentence once."""
        fresh = [text for text in texts if text and text not in self._warned]
        self._warned.update(fresh)
        for text in fresh:
            self._post(session.id, Notice(level="warning", text=text))

    async def _prepare(self, session: Session, prompt: Prompt, token: CancelToken) -> TurnInput:
        self._warn(session, self.handles.config.loaded(session.root).problems)
        return await self._assembler.turn_input(session, prompt, token)

    async def _stored(self) -> None:
        await self.bus.told()
        await self._journal.settled()

    def _trouble(self, conversation: str, error: AgentError) -> None:
        self._post(conversation, PersistenceFailed(error=public(error)))

    def _post(self, conversation: str, event: Event) -> None:
        session = self._sessions.get(conversation)
        self.bus.emit(Envelope(conversation, session.turn if session else "", event))
