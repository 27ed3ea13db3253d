"""One request and its answer: sends, reads with an eye on clock and token, and closes in any case."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentError, agent_error
from smith_server.core.interrupt import interrupted_by
from smith_server.core.ports import Delta, Failed
from smith_server.llm import advice
from smith_server.llm.answer import Answer, End, Reader
from smith_server.llm.http import Broken, Connections, Response, Unreached
from smith_server.llm.presets import Preset
from smith_server.llm.stall import StallClock

T = TypeVar("T")


class Exchange:
    """`open`, then `read` until `over`, `close` whatever happened, then `rest`.

    `reader` makes what reads an answer of a content type. A request of which the whole answer is
    wanted at once (`streamed` false) has the longer limit from the start.
    """

    def __init__(
        self, connections: Connections, preset: Preset, reader: Callable[[str], Reader], *, streamed: bool
    ) -> None:
        self.over = False
        self._connections = connections
        self._preset = preset
        self._reader = reader
        self._streamed = streamed
        self._clock = StallClock(preset.timeouts, time.monotonic())
        self._response: Response | None = None
        self._answer: Answer | None = None
        self._lost: AgentError | None = None
        self._how: End = "eof"
        self._at_end = False

    async def open(self, path: str, headers: Mapping[str, str], body: bytes, token: CancelToken) -> None:
        """Send, and wait for the headers of the response."""
        if not self._streamed:
            self._clock.whole()
        send = self._connections.send
        try:
            response = await self._waited(lambda: send(self._preset, "POST", path, headers, body), token)
        except Unreached as problem:
            text = advice.unreachable(problem.reason, self._preset)
            self._lose(agent_error("transport", "unreachable", text, cause=str(problem), provider=self._preset.name))
            return
        if response is None:
            return
        self._response = response
        reader = self._reader(response.headers.get("content-type", ""))
        self._answer = Answer(response.status, response.headers, reader, self._preset)
        if self._answer.refused:
            self._clock.refused(time.monotonic())

    async def read(self, token: CancelToken) -> list[Delta]:
        """What the next read from the wire adds to the answer; nothing once it is over."""
        response, answer = self._response, self._answer
        if response is None or answer is None:
            self.over = True
            return []
        raw = await self._waited(response.read, token)
        if raw is None:
            return []
        self._at_end = not raw
        deltas = answer.feed(raw)
        self.over = self._at_end or answer.finished
        self._mark(answer)
        return deltas

    async def close(self) -> None:
        """Give the connection back if the answer was read, else close it, so that the server stops."""
        response = self._response
        if response is None or self._at_end:
            return
        if self.over and self._how == "eof":
            self._connections.run(response.drain())
            return
        await asyncio.shield(self._connections.run(response.close()))

    def rest(self) -> list[Delta]:
        """What is left of the answer; its last item is `Done` or `Failed`."""
        if self._lost is not None:
            return [Failed(self._lost)]
        if self._answer is None:
            return self._reader("").end(self._how)
        return self._answer.end(self._how)

    async def _waited(self, work: Callable[[], Awaitable[T]], token: CancelToken) -> T | None:
        """The outcome of `work`; None when the connection or the patience ended first."""
        try:
            async with asyncio.timeout_at(self._deadline()), interrupted_by(token):
                return await work()
        except TimeoutError:
            self._how = "stall"
        except Broken:
            self._how = "reset"
        self.over = True
        return None

    def _deadline(self) -> float:
        """The clock's deadline in the time of the event loop."""
        return asyncio.get_running_loop().time() + self._clock.deadline - time.monotonic()

    def _mark(self, answer: Answer) -> None:
        if answer.refused:
            return
        reader = answer.reader
        if reader.whole:
            self._clock.whole()
        else:
            self._clock.saw(reader.events, reader.comments, reader.complete, time.monotonic())

    def _lose(self, error: AgentError) -> None:
        self._lost, self.over = error, True


def masked(delta: Delta, key: str) -> Delta:
    """`delta` without the key in an error's texts: some servers repeat what they refuse."""
    if not key or not isinstance(delta, Failed) or key not in delta.error.message + delta.error.cause:
        return delta
    return msgspec.structs.replace(delta, error=without(delta.error, key))


def without(error: AgentError, key: str) -> AgentError:
    """`error` with the key blanked."""
    return msgspec.structs.replace(
        error, message=error.message.replace(key, "***"), cause=error.cause.replace(key, "***")
    )
