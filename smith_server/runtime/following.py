"""Looks on while other processes write conversations that are open here: what they add becomes events."""

import asyncio
import logging
from collections.abc import Callable

from smith_server.core.events import Envelope
from smith_server.runtime.session import Session
from smith_server.store.db import Database
from smith_server.store.follow import Cursor

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.4


class Following:
    """One task as long as there is something to look at; a look costs a few microseconds where nothing happened."""

    def __init__(self, database: Database, post: Callable[[Envelope], None]) -> None:
        self._database = database
        self._post = post
        self._watched: dict[str, tuple[Session, Cursor]] = {}
        self._task: asyncio.Task[None] | None = None

    def follow(self, session: Session, cursor: Cursor) -> None:
        """Look at a conversation from now on; `cursor` is how far it was read."""

    def leave(self, conversation: str) -> None:
        """Look at it no more."""
        self._watched.pop(conversation, None)

    def stop(self) -> None:
        """Look at nothing any more."""
        self._watched.clear()
