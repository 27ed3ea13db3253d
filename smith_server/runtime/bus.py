"""Events from those who emit to those who listen: emitting never waits, order holds, ends arrive.

One task takes what waits, joins consecutive deltas of a message, has it stored, then tells the
listeners. So nothing is shown that a kill could lose, as long as the store answers.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from smith_server.core.events import Envelope, MessageAdded, OutputDelta, ReasoningDelta, TurnEnded

log = logging.getLogger(__name__)

MOST_JOINED = 1 << 16

Listener = Callable[[Envelope], None]


class Keeper(Protocol):
    """Stores what passes, before it is shown. Never raises for a store that fails."""

    async def keep(self, batch: list[Envelope]) -> None: ...


class Bus:
    """The queue between one process's sessions and its faces."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._queue: deque[Envelope] = deque()
        self._passing: deque[Envelope] = deque()
        self._wake = asyncio.Event()
        self._listeners: list[Listener] = []
        self._emitted = 0
        self._told = 0
        self.marks = 0
        """Grows with every message and every end of a turn that the listeners hear of."""
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to pass events on."""
        self._task = asyncio.create_task(self._run(), name="bus")

    async def stop(self) -> None:
        """Pass on what still waits, then end."""
        if self._task is None:
            return
        await self.told()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every event from now on; the answer takes it back."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def emit(self, envelope: Envelope) -> None:
        """Queue an event; never waits. It is told in this order, when it is stored."""
        self._queue.append(envelope)
        self._emitted += 1
        self._wake.set()

    def untold(self) -> Iterator[Envelope]:
        """What was emitted and no listener has heard of yet; it may be stored already."""
        yield from self._passing
        yield from self._queue

    async def told(self) -> None:
        """Wait until every event emitted so far was stored and told."""
        if self._told >= self._emitted:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._emitted, future))
        # One that was ended amid it tells nobody any more.
        await asyncio.wait([future, *([self._task] if self._task else [])], return_when=asyncio.FIRST_COMPLETED)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                await self._pass_on()

    async def _pass_on(self) -> None:
        taken = list(self._queue)
        self._queue.clear()
        batch = list(joined(taken))
        self._passing.extend(batch)
        await self._keeper.keep(batch)
        while self._passing:
            self._tell(self._passing.popleft())
        self._told += len(taken)
        for target, future in list(self._waiting):
            if target <= self._told:
                self._waiting.remove((target, future))
                if not future.done():
                    future.set_result(None)

    def _tell(self, envelope: Envelope) -> None:
        self.marks += isinstance(envelope.event, MessageAdded | TurnEnded)
        for listener in list(self._listeners):
            try:
                listener(envelope)
            except Exception:
                log.exception("a listener failed on %s", type(envelope.event).__name__)


def joined(envelopes: Iterable[Envelope]) -> Iterable[Envelope]:
    """The same events with neighbouring deltas of one message made one, up to `MOST_JOINED` characters."""
    held: Envelope | None = None
    texts: list[str] = []
    size = 0
    for envelope in envelopes:
        if held is not None and size < MOST_JOINED and _continues(held, envelope):
            texts.append(_text(envelope))
            size += len(texts[-1])
            continue
        if held is not None:
            yield _with_text(held, texts)
            held = None
        if isinstance(envelope.event, OutputDelta | ReasoningDelta):
            held, texts = envelope, [envelope.event.text]
            size = len(texts[0])
        else:
            yield envelope
    if held is not None:
        yield _with_text(held, texts)


def _continues(held: Envelope, envelope: Envelope) -> bool:
    first, then = held.event, envelope.event
    return (
        type(first) is type(then)
        and isinstance(first, OutputDelta | ReasoningDelta)
        and isinstance(then, OutputDelta | ReasoningDelta)
        and first.message == then.message
        and (held.conversation, held.job) == (envelope.conversation, envelope.job)
    )


def _text(envelope: Envelope) -> str:
    return envelope.event.text if isinstance(envelope.event, OutputDelta | ReasoningDelta) else ""


def _with_text(held: Envelope, texts: list[str]) -> Envelope:
    if len(texts) == 1:
        return held
    return msgspec.structs.replace(held, event=msgspec.structs.replace(held.event, text="".join(texts)))


def ends_turn(envelope: Envelope) -> bool:
    """Whether this is the last event of a turn of a parent conversation."""
    return not envelope.job and isinstance(envelope.event, TurnEnded)
