"""What is done beside the keys: commands, prompts, stops. What goes wrong with it is told to the person."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from smith_server.core.errors import AgentError, AgentFailure


class Beside:
    """`on_problem` gets the error of what failed, `on_done` is called after everything that has ended."""

    def __init__(self, on_problem: Callable[[AgentError], None], on_done: Callable[[], None]) -> None:
        self._on_problem = on_problem
        self._on_done = on_done
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something; nobody waits for it."""
        task = asyncio.ensure_future(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except AgentFailure as problem:
            self._on_problem(problem.error)
        self._on_done()
