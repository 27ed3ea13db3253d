"""Looks on while other processes write conversations that are open here: what they add becomes events."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import apsw
from msgspec import Struct

from smith_server.core.conversation import turn_of
from smith_server.core.errors import AgentFailure
from smith_server.core.events import ConversationChanged, Envelope
from smith_server.runtime.replay import Replay
from smith_server.runtime.session import Session
from smith_server.store import conversations, follow, lease, pages
from smith_server.store.db import Database
from smith_server.store.follow import Changes, Cursor
from smith_server.store.pages import Page, TurnFacts

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.4


class _Watched(Struct):
    """A conversation and how far it was told. `is_held` while another process has it."""

    session: Session
    cursor: Cursor
    replay: Replay
    is_held: bool = True


class _Look(Struct, frozen=True):
    """What one look found; `holder` is who has it now, `messages` all of them where some were changed."""

    changes: Changes
    turns: dict[str, TurnFacts]
    holder: lease.Lease | None
    messages: conversations.Transcript | None = None


class Following:
    """One task as long as there is something to look at; a look costs next to nothing where nothing happened."""

    def __init__(self, database: Database, post: Callable[[Envelope], None]) -> None:
        self._database = database
        self._post = post
        self._watched: dict[str, _Watched] = {}
        self._task: asyncio.Task[None] | None = None

    def follow(self, session: Session, cursor: Cursor, running: Page | None) -> None:
        """Look at a conversation from now on; `cursor` is how far it was read, `running` the turn that goes on."""
        replay = Replay(session.id, running.turns if running is not None else None)
        for said in running.said if running is not None else ():
            # Where the turn began is not told again.
            deque(replay.said(said), maxlen=0)
        self._watched[session.id] = _Watched(session, cursor, replay)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="following")

    def leave(self, conversation: str) -> None:
        """Look at it no more."""
        self._watched.pop(conversation, None)

    def stop(self) -> None:
        """Look at nothing any more."""
        self._watched.clear()
        if self._task is not None:
            self._task.cancel()

    def seen(self, conversation: str) -> int | None:
        """The number of the last message that was told of a conversation; None for one that is not looked at."""
        watched = self._watched.get(conversation)
        return watched.cursor.n if watched is not None else None

    async def _run(self) -> None:
        while self._watched:
            await asyncio.sleep(LOOK_SECONDS)
            for watched in list(self._watched.values()):
                try:
                    found = await self._database.call(partial(_looked, watched))
                except AgentFailure as problem:
                    log.warning("looking at %s failed: %s", watched.session.id, problem)
                    continue
                if watched.session.id in self._watched:
                    self._tell(watched, found)

    def _tell(self, watched: _Watched, found: _Look) -> None:
        session, changes = watched.session, found.changes
        watched.cursor = changes.cursor
        watched.replay.turns.update(found.turns)
        if changes.state == "gone":
            self.leave(session.id)
            session.emit(ConversationChanged(change="deleted"))
            return
        if found.messages is not None:
            session.talk.messages[:] = found.messages.messages
            session.emit(ConversationChanged(change="rewritten"))
        self._add(watched, changes)
        if not changes.is_running:
            self._pass_on(watched.replay.rest())
        self._see_holder(watched, found.holder)

    def _add(self, watched: _Watched, changes: Changes) -> None:
        """What was stored between cursor and reading comes a second time, and is passed over."""
        talk = watched.session.talk
        known = {message.id for message in talk.messages[-len(changes.messages) - 1 :]} if changes.messages else set()
        for said in changes.messages:
            if not said.job and said.message.id in known:
                continue
            if not said.job:
                talk.messages.append(said.message)
            self._pass_on(watched.replay.said(said))

    def _see_holder(self, watched: _Watched, holder: lease.Lease | None) -> None:
        if holder is not None:
            watched.session.holder = holder
        elif watched.is_held:
            watched.session.emit(ConversationChanged(change="released"))
        watched.is_held = holder is not None

    def _pass_on(self, envelopes: Iterator[Envelope]) -> None:
        for envelope in envelopes:
            self._post(envelope)


def _looked(watched: _Watched, connection: apsw.Connection) -> _Look:
    name = watched.session.id
    changes = follow.changes_since(connection, name, watched.cursor)
    turns = {turn_of(said.message.id) for said in changes.messages}
    if watched.replay.turn and not changes.is_running:
        turns.add(watched.replay.turn)
    return _Look(
        changes,
        {turn: pages.facts(connection, name, turn) for turn in turns},
        lease.held(connection, name),
        conversations.load(connection, name) if changes.state == "rewritten" else None,
    )
