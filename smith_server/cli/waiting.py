"""A sign that something is waited for, on a terminal that cannot be drawn on: one line, written over itself."""

import asyncio
from collections.abc import Callable

from smith_server.core.events import (
    ApprovalAsked,
    CallStarted,
    Envelope,
    OutputDelta,
    RequestStarted,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
)
from smith_server.tui.spinner import frame

_SECONDS = 0.25
_ENDS = (OutputDelta, ApprovalAsked, TurnCompleted, TurnCancelled, TurnFailed)


class Sign:
    """A listener of the bus; `write` writes to the terminal as it is told. Everybody else calls `clear` first."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._said = ""
        self._width = 0
        self._ticks = 0
        self._timer: asyncio.TimerHandle | None = None

    def take(self, envelope: Envelope) -> None:
        """Begin with a request or a call, end with what comes of it."""
        match envelope.event:
            case RequestStarted():
                self._begin(f"waiting for {envelope.role}" if envelope.job else "thinking")
            case CallStarted(name=name) if not envelope.job:
                self._begin(f"{name} runs")
            case event if isinstance(event, _ENDS) and not (envelope.job and isinstance(event, OutputDelta)):
                self.end()

    def clear(self) -> None:
        """Make room for other text on the line."""
        if self._width:
            self._write(f"\r{' ' * self._width}\r")
            self._width = 0

    def end(self) -> None:
        """Nothing is waited for; may be called at any time."""
        self.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self, said: str) -> None:
        self._said = said
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._tick)

    def _tick(self) -> None:
        self.clear()
        text = f"{frame(self._ticks / 10)} {self._said}"
        self._write(f"\r{text}")
        self._width = len(text)
        self._ticks += 1
        self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._tick)
