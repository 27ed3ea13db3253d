"""Events on their way to the client: numbered, deltas joined for up to 16 ms, some kept for replay.

The first delta of a message goes out at once. Everything else goes out at once too, behind the
deltas that wait. A client that does not read is not written to without end: past a limit its
events are dropped, and when it reads again it is told to load the conversation.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from smith_server.core.events import Envelope, OutputDelta, ReasoningDelta
from smith_server.lsp.convert import payload
from smith_server.runtime.bus import joined

JOIN_SECONDS = 0.016
KEPT_BYTES = 4 << 20
MOST_BACKLOG = 8 << 20
RESYNC_SECONDS = 0.1


class EventStream:
    """The outgoing events of one connection. `send` gets a payload and answers its size in bytes."""

    def __init__(self, send: Callable[[dict[str, Any]], int], backlog: Callable[[], int]) -> None:
        self._send = send
        self._backlog = backlog
        self._seq = 0
        self._held: list[Envelope] = []
        self._timer: asyncio.TimerHandle | None = None
        self._last_delta = 0.0
        self._lost: dict[str, Envelope] = {}
        self._kept: deque[tuple[dict[str, Any], int]] = deque()
        self._kept_bytes = 0

    @property
    def seq(self) -> int:
        """Number of the last event sent."""
        return self._seq

    def take(self, envelope: Envelope) -> None:
        """Send an event, or hold a delta back for a moment."""
        if not isinstance(envelope.event, OutputDelta | ReasoningDelta):
            self.flush()
            self._out(envelope)
            return
        now = asyncio.get_running_loop().time()
        if not self._held and now - self._last_delta >= JOIN_SECONDS:
            self._last_delta = now
            self._out(envelope)
            return
        self._held.append(envelope)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(JOIN_SECONDS, self.flush)

    def flush(self) -> None:
        """Send the deltas that wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        for envelope in joined(held):
            self._last_delta = asyncio.get_running_loop().time()
            self._out(envelope)

    def since(self, seq: int) -> list[dict[str, Any]] | None:
        """The kept events after number `seq`; None when some of them are not kept, or `seq` is none of ours."""
        if self._lost or seq > self._seq:
            return None
        first = self._kept[0][0]["seq"] if self._kept else self._seq + 1
        if seq < first - 1:
            return None
        return [body for body, _ in self._kept if body["seq"] > seq]

    def _out(self, envelope: Envelope) -> None:
        if not self._lost and self._backlog() <= MOST_BACKLOG:
            self._number(payload(envelope))
            return
        if not self._lost:
            asyncio.get_running_loop().call_later(RESYNC_SECONDS, self._look_again)
        self._lost.setdefault(envelope.conversation, envelope)

    def _look_again(self) -> None:
        """Until the client has read what was sent; then it is told of what conversations it missed something."""
        if self._backlog():
            asyncio.get_running_loop().call_later(RESYNC_SECONDS, self._look_again)
            return
        lost, self._lost = self._lost, {}
        for conversation, envelope in lost.items():
            self._number({"kind": "resync", "conversation": conversation, "turn": envelope.turn})

    def _number(self, body: dict[str, Any]) -> None:
        self._seq += 1
        body["seq"] = self._seq
        size = self._send(body)
        self._kept.append((body, size))
        self._kept_bytes += size
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= self._kept.popleft()[1]
