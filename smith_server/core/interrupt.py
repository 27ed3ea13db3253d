"""Waiting that a cancel token can end: the one bridge between tokens and asyncio."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Cancelled

T = TypeVar("T")


class interrupted_by:  # noqa: N801 - reads as a statement: `async with interrupted_by(token):`
    """Run the body until it ends or `token` is requested.

    On a request the body sees one `asyncio.CancelledError` at the place where it waits, may clean
    up, and the whole raises `Cancelled`. A body that catches it and ends normally keeps its
    result. A cancellation of the task by somebody else passes through unchanged.
    """

    def __init__(self, token: CancelToken) -> None:
        self._token = token
        self._sent = False
        self._soon: asyncio.Handle | None = None
        self._detach: Callable[[], None] | None = None

    async def __aenter__(self) -> Self:
        self._token.check()
        task = asyncio.current_task()
        assert task is not None, "interrupted_by needs a running task"
        self._task: asyncio.Task[object] = task
        self._detach = self._token.on_request(self._interrupt)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._detach is not None:
            self._detach()
        if self._soon is not None:
            self._soon.cancel()
        if not self._sent:
            return
        left = self._task.uncancel()
        if isinstance(problem, asyncio.CancelledError) and left == 0:
            raise Cancelled from None

    def _interrupt(self) -> None:
        # Soon, not now: a task that cancels itself could leave the body before it notices, and the
        # cancellation would hit whatever it waits for next.
        self._soon = asyncio.get_running_loop().call_soon(self._cancel)

    def _cancel(self) -> None:
        self._sent = True
        self._task.cancel()


async def wait_for(work: Awaitable[T], token: CancelToken) -> T:
    """`await work`, ended by `token` with `Cancelled`."""
    if token.requested and inspect.iscoroutine(work):
        # What is never awaited would complain of it on standard error.
        work.close()
    async with interrupted_by(token):
        return await work
