"""The database of the program: one connection, used by one thread, for reading and writing alike."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from smith_server.core.errors import AgentError, failure
from smith_server.store import damage
from smith_server.store.failures import is_damage, typed
from smith_server.store.opening import Opened, Place, open_store
from smith_server.store.worker import Worker

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds for an answer: more than a lock of another process may last."""


class Database:
    """An open store. Made by `Database.open`."""

    def __init__(self, opened: Opened, worker: Worker, patience: float = PATIENCE) -> None:
        self._connection = opened.connection
        self._worker = worker
        self._is_open = True
        self._is_suspect = False
        self._patience = patience
        self._name = str(opened.path or "the store in memory")
        self.path = opened.path
        """The file, or None when everything is held in memory."""
        self.warnings: tuple[AgentError, ...] = opened.warnings
        """What the person has to know of how the store was opened."""

    @classmethod
    async def open(cls, place: Path | Place | None, patience: float = PATIENCE) -> "Database":
        """Open the store at a path, make it, or have one in memory (None); `patience` as of `call`, in seconds.

        Raises persistence/`newer` or `locked`; everything else that is wrong with the file is a
        warning.
        """
        worker = Worker("store")
        try:
            opened = await worker.run(partial(open_store, place if isinstance(place, Place) else Place(place)))
        except BaseException:
            worker.stop()
            raise
        return cls(opened, worker, patience)

    async def call(self, work: Callable[[apsw.Connection], T]) -> T:
        """What `work` returns, done on the thread of the store after everything asked for before.

        It is done even when the caller is cancelled meanwhile, or hears after some patience that the store
        does not answer. `work` writes inside `transaction`.
        Raises kind persistence: `locked` and `unavailable` may pass, `full`, `read_only`, `corrupt`
        and `rejected` do not by themselves.
        """
        answer = self.ask(work)
        done, _ = await asyncio.wait([answer], timeout=self._patience)
        if not done:
            text = f"The store does not answer ({self._name}). Is its disk there? Try again when it is."
            raise failure("persistence", "unavailable", text)
        return answer.result()

    def ask(self, work: Callable[[apsw.Connection], T]) -> "asyncio.Future[T]":
        """As `call`, for one who waits in a way of its own."""
        if not self._is_open:
            raise failure("persistence", "unavailable", "The store is closed; start smith again.")
        answer = self._worker.run(partial(self._guarded, work))
        # Nobody may be there any more to hear of a failure.
        answer.add_done_callback(lambda settled: settled.cancelled() or settled.exception())
        return answer

    async def close(self, seconds: float = 2.0) -> None:
        """Do what was asked for and close the file, waiting `seconds` at most."""
        if not self._is_open:
            return
        self._is_open = False
        closed = self._worker.run(self._put_away)
        self._worker.stop()
        done, _ = await asyncio.wait([closed], timeout=seconds)
        for answer in done:
            # Nobody can act on a failure here, and the rows are committed already.
            answer.exception()

    def _guarded(self, work: Callable[[apsw.Connection], T]) -> T:
        try:
            return work(self._connection)
        except apsw.Error as problem:
            if is_damage(problem):
                self._suspect()
            raise typed(problem, self._name) from problem

    def _suspect(self) -> None:
        self._is_suspect = True
        if self.path is not None:
            damage.set_suspect(self.path)

    def _put_away(self) -> None:
        self._connection.close()
        if self.path is not None and not self._is_suspect:
            damage.set_seal(self.path)
