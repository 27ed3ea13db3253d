"""What one process has open: its conversations, the bus between them and the faces, and the services they use."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smith_server.config import secrets
from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentError, AgentFailure, failure, public
from smith_server.core.events import Event, Notice, PersistenceFailed
from smith_server.core.messages import Message
from smith_server.core.space import Space
from smith_server.core.todos import Todo
from smith_server.policy.roles import Role
from smith_server.runtime.assemble import Assembler, Ways
from smith_server.runtime.bus import Bus
from smith_server.runtime.completion import Completion
from smith_server.runtime.handles import Handles
from smith_server.runtime.journal import Journal
from smith_server.runtime.library import Edit
from smith_server.runtime.line import Prompt
from smith_server.runtime.options import Options
from smith_server.runtime.outcome import CancelOutcome, TurnRecord
from smith_server.runtime.outlook import NextRequest, Outlook
from smith_server.runtime.repositories import ProjectMemory, Todos
from smith_server.runtime.session import Session
from smith_server.runtime.sessions import Sessions, Stage
from smith_server.runtime.standing import Standing, Standings
from smith_server.store.holder import Holder

if TYPE_CHECKING:
    from smith_server.proc.jobs import Jobs
    from smith_server.store.search import Found
    from smith_server.tools.bash import Bash

BEAT_SECONDS = 25.0


class Services:
    """Made and opened by `composition.compose`. `handles` are the ten services; `bus` carries the events of all
    conversations; `sessions` are those that are open, `library` is what is stored."""

    def __init__(self, options: Options, handles: Handles, holder: Holder) -> None:
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()
        self._journal = Journal(
            handles.persistence, holder, handles.ui.name, self._trouble, unattended=options.unattended
        )
        self.handles = handles
        self.bus = Bus(self._journal)
        ways = Ways(self.bus.emit, self._stored, options.chance)
        self._assembler = Assembler(handles, options.environ, ways)
        self._outlook = Outlook(self._assembler)
        stage = Stage(handles, self.bus, self._journal, self._assembler)
        self.library = stage.library
        self.sessions = Sessions(options, stage)
        self._standings = Standings()
        self._announced: Event | None = None
        self.bus.subscribe(self._standings.take)

    def start(self) -> None:
        """Begin to pass events on."""
        self.bus.start()
        self._in_background(self._beat(), "heartbeat")

    async def close(self, reason: str = "") -> None:
        """Stop every turn, store what happened, end every child.

        Raises persistence/`not_stored`, when all that is done, for what the store has not taken.
        """
        await self.sessions.close(reason)
        await self.handles.tool.end_jobs()
        for task in list(self._tasks):
            task.cancel()
        handles = self.handles
        await handles.tool.close()
        await self.bus.stop()
        await self._journal.settled()
        if not self._journal.unsaved:
            # A store that cannot be written gives no right back; it falls to the next one when this process is gone.
            with suppress(AgentFailure):
                await handles.conversation.release(self.sessions.names())
        await handles.model.close()
        await handles.persistence.close()
        if self._journal.unsaved:
            text = "The last part of this session could not be stored and is lost. Is the disk full?"
            raise failure("persistence", "not_stored", text)

    async def edit_message(self, session: Session, name: str, text: str, expect: str = "") -> Message:
        """Give a stored message another text; see `store/messages.py`. Raises policy/`turn_active` or `read_only`."""
        edit = Edit(name, text, expect)
        return await self.sessions.rewrite(session, lambda held: self.library.edit(session.id, held, edit))

    async def delete_message(self, session: Session, name: str, expect: str = "") -> Sequence[str]:
        """Remove a stored message and what belongs to it; the ids of those that are gone. Raises as `edit_message`."""
        edit = Edit(name, None, expect)
        return await self.sessions.rewrite(session, lambda held: self.library.remove(session.id, held, edit))

    async def clear(self, session: Session) -> int:
        """Empty a conversation; how many messages are gone. Its usage and its notes stay."""
        return await self.sessions.rewrite(session, lambda held: self.library.clear(session.id))

    async def next_request(self, session: Session, prompt: Prompt) -> NextRequest:
        """The exact request that `prompt` would send first, with what it leaves out of the conversation."""
        return await self._outlook.next_request(session, prompt)

    def standing(self, conversation: str) -> Standing:
        """What goes on in an open conversation."""
        return self._standings.of(conversation)

    def ceiling(self, conversation: str) -> int:
        """The most tokens that a request of a conversation may have; 0 before its first turn."""
        return self._outlook.ceiling(conversation)

    async def cancel_job(self, job: str) -> CancelOutcome:
        """End one child and those below it; what that ended. Its parent goes on with a report that says so."""
        record = TurnRecord("")
        leave = self.bus.subscribe(lambda envelope: record.see(envelope.event) if envelope.job == job else None)
        try:
            is_stopped = await self.handles.dispatch.cancel(job)
            await self.bus.told()
        finally:
            leave()
        return record.stopped(()) if is_stopped else CancelOutcome(False)

    def running(self, conversation: str, turn: str) -> Session | None:
        """The conversation to stop: the one named, or the one that is busy."""
        if conversation:
            return self.sessions.known(conversation)
        busy = [session for session in self.sessions.all() if session.busy or session.errands]
        return next((session for session in busy if not turn or session.turn == turn), None)

    async def run_line(self, line: str, session: Session) -> Any:
        """Run a line that begins with `/`; everything said so far is stored when it runs."""
        await self.bus.told()
        return await self.handles.command.run(line, session, self)

    async def complete(self, line: str, cursor: int, session: Session) -> Completion:
        """What may stand at the `cursor` (code points) of a command line."""
        return await self.handles.command.complete(line, cursor, session, self)

    def shell(self, session: Session) -> "Bash":
        """What runs a command for the person in a conversation."""
        return self._assembler.kit.shell_of_person(session)

    async def system_prompt(self, session: Session) -> str:
        """What the next turn would send first."""
        return await self._assembler.system_prompt(session)

    async def compact(self, session: Session) -> Compaction:
        """Shorten now what is sent of a conversation. Raises `turn_active`, `Cancelled`, or that there is no model."""
        return await session.alone(lambda token: self._outlook.compact(session, token))

    async def space(self, session: Session) -> Space:
        """What takes the space of the next request."""
        return await self._outlook.space(session)

    def role(self, session: Session) -> Role:
        """The role of the next turn: the one chosen for the conversation, else the configured one."""
        configured = self.handles.config.settings(session.root).active_role or ""
        return self.handles.role.active(session.role, configured)

    async def todos(self, session: Session) -> Sequence[Todo]:
        """The plan of a conversation."""
        return await Todos(self.handles.persistence, session.id, "", session.emit).list()

    def jobs(self, session: Session) -> "Jobs":
        """The commands of a conversation that run in the background."""
        return self.handles.tool.jobs(session.id)

    def mask(self, session: Session) -> Callable[[str], str]:
        """What blanks the values of keys in a text that is shown."""
        settings = self.handles.config.settings(session.root)
        return secrets.mask(self._options.environ, secrets.variables_of(settings))

    def require_role(self, name: str) -> None:
        """Raises policy/`unknown_role` for one that a person cannot talk to."""
        names = self.handles.role.user_facing()
        if name not in names:
            raise failure(
                "policy", "unknown_role", f"There is no role {name!r} to talk to; there are: {', '.join(names)}."
            )

    async def memory(self, session: Session) -> ProjectMemory | None:
        """What the project of a conversation remembers; None without a project that has an identity."""
        return await self._assembler.memory(session.root)

    async def search(self, words: str, root: Path | None) -> "Found":
        """What is stored and holds these words, in a project or anywhere (None)."""
        project = (await self._assembler.scope(root)).project_id if root is not None else ""
        return await self.library.search(words, project, root)

    async def keep(self, session: Session) -> None:
        """See that a conversation is stored, so that something of it can be kept. Raises policy/`read_only`."""
        session.require_writable()
        await self._journal.begin(session.id)

    def folder(self, name: str) -> Path:
        """Where files of this installation are kept that nobody else needs."""
        return self._options.places.state / name

    def warm(self, root: Path) -> None:
        """Open the connection to the provider in the background. What goes wrong here shows with the prompt."""
        self._in_background(self._warm(root), "warm")

    def advise(self, session: Session) -> None:
        """Say in an open conversation what is being started for it, and soon what to do, when nothing is set up that
        could answer there."""
        if self._announced is not None:
            self.sessions.post(session.id, self._announced)
        self._in_background(self._advise(session), "advise")

    def _in_background(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _beat(self) -> None:
        """Other machines see by this that the conversations held here are at work."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(AgentFailure):
                shelf = self.handles.conversation
                for lost in await shelf.beat(self._journal.leases.values()):
                    self._trouble(lost.conversation, await shelf.why_lost(lost))

    async def _warm(self, root: Path) -> None:
        with suppress(AgentFailure):
            await self.handles.model.warm(self.handles.config.settings(root), self._announce)
        self._announced = None

    def _announce(self, event: Event) -> None:
        """Tell every conversation that is open, and those that are opened until it is over."""
        self._announced = event
        for session in self.sessions.all():
            self.sessions.post(session.id, event)

    async def _advise(self, session: Session) -> None:
        if text := await self.handles.model.lacking(self.handles.config.settings(session.root)):
            self.sessions.post(session.id, Notice(level="warning", text=text))

    async def _stored(self) -> None:
        await self.bus.told()
        await self._journal.settled()

    def _trouble(self, conversation: str, error: AgentError) -> None:
        if error.code == "lease_lost" and (lost := self.sessions.lost(conversation, error)) is not None:
            self._in_background(lost.fail(error), "fail")
        else:
            self.sessions.post(conversation, PersistenceFailed(error=public(error)))
