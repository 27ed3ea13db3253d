"""What a person has smith do beside any turn: it can be stopped like one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from smith_server.core.cancel import CancelToken

T = TypeVar("T")


class Errands:
    """The errands of one conversation, by what people call them."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[object], tuple[str, CancelToken]] = {}

    def __bool__(self) -> bool:
        return bool(self._running)

    async def run(self, name: str, work: Callable[[CancelToken], Awaitable[T]]) -> T:
        """Do `work`; it watches the token that it gets, and is ended with whoever waits for it."""
        token = CancelToken()
        task = asyncio.ensure_future(work(token))
        self._running[task] = (name, token)
        task.add_done_callback(lambda done: self._running.pop(done, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._end(task, token)
            raise

    async def cancel(self) -> tuple[str, ...]:
        """Stop them all; the names of those that ran. Returns when none does any more."""
        running = dict(self._running)
        await asyncio.gather(*(self._end(task, token) for task, (_, token) in running.items()))
        return tuple(name for name, _ in running.values())

    async def _end(self, task: "asyncio.Task[object]", token: CancelToken) -> None:
        # The token says that it is meant, the cancel wakes whatever waits.
        token.request()
        task.cancel()
        await asyncio.wait([task])
