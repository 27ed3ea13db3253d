"""One thread that does what it is handed, in that order, and answers to the event loop that asked."""

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Worker:
    """The thread. It never keeps the process from ending."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        Thread(target=_serve, args=(self._jobs,), name=name, daemon=True).start()

    def run(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Have `work` done on the thread. It is done even when nobody waits for the answer any more."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._jobs.put((work, answer, loop))
        return answer

    def stop(self) -> None:
        """End the thread after the jobs that it has; later ones are never done."""
        self._jobs.put(None)


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        work, answer, loop = job
        result, problem = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001  it is raised again where the answer is awaited
            problem = raised
        try:
            loop.call_soon_threadsafe(_settle, answer, result, problem)
        except RuntimeError:
            # The loop is closed, so nobody waits.
            continue


def _settle(answer: "asyncio.Future[Any]", result: object, problem: BaseException | None) -> None:
    if answer.done():
        return
    if problem is None:
        answer.set_result(result)
    else:
        answer.set_exception(problem)
