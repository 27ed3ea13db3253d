"""When it rains: while a child waits for the first word of its model and nothing is being written.

Knows the events, not the pixels. The sleep between two frames belongs to nobody's turn: a stop sets a
flag and takes the picture away at once, and no frame follows.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterator

from smith_server.core import events as on
from smith_server.core.events import Envelope
from smith_server.tui import kitty, rain, theme
from smith_server.tui.shm import Frames
from smith_server.tui.tty import Tty

TICK = 0.1
QUIET = 0.3
"""Seconds after the last output until it may rain again."""

_OUTPUT = (on.OutputDelta, on.ReasoningDelta)
_ANSWERED = (*_OUTPUT, on.RequestFinished, on.CallStarted, on.MessageAdded)
_ENDS = (on.TurnCompleted, on.TurnCancelled, on.TurnFailed)


class Waiting:
    """Which children wait for their model, in the order in which they began to, and since when it is quiet."""

    def __init__(self) -> None:
        self._roles: dict[str, str] = {}
        self._written = -QUIET

    def take(self, envelope: Envelope, now: float) -> None:
        """Take an event in that happened at `now`, in seconds."""
        event = envelope.event
        if isinstance(event, _OUTPUT):
            self._written = now
        if isinstance(event, on.DispatchFinished):
            self._roles.pop(event.child, None)
        if not envelope.job:
            if isinstance(event, (*_ENDS, on.TurnCancelRequested)):
                self._roles.clear()
            return
        if isinstance(event, on.RequestStarted):
            self._roles.pop(envelope.job, None)
            self._roles[envelope.job] = envelope.role
        elif isinstance(event, (*_ANSWERED, *_ENDS)):
            self._roles.pop(envelope.job, None)

    @property
    def roles(self) -> list[str]:
        """The roles of those that wait, the last one last."""
        return list(self._roles.values())

    def role(self, now: float) -> str:
        """The role in whose colour it rains now; "" while it does not."""
        return self.roles[-1] if self._roles and now - self._written >= QUIET else ""

    def due(self, now: float) -> float | None:
        """Seconds until it may rain; None when nobody waits."""
        return max(QUIET - (now - self._written), 0.0) if self._roles else None


class Curtain:
    """The rain of one terminal. Inert, with `is_able` false, where it cannot be shown."""

    def __init__(self, tty: Tty, on_change: Callable[[], None], *, is_able: bool, tick: float = TICK) -> None:
        self.is_able = is_able
        self.waiting = Waiting()
        self._tty = tty
        self._on_change = on_change
        self._tick = tick
        self._frames = Frames()
        self._task: asyncio.Task[None] | None = None
        self._later: asyncio.TimerHandle | None = None
        self._shown = ""
        self._is_held = False

    @property
    def shows(self) -> str:
        """The role in whose colour it rains; "" while it does not."""
        return self._shown

    def take(self, envelope: Envelope) -> None:
        """A listener: start and stop by what happens."""
        self.waiting.take(envelope, asyncio.get_running_loop().time())
        self._follow()

    def hold(self, held: bool) -> None:
        """No rain while something else has the screen."""
        self._is_held = held
        self._follow()

    def stop(self) -> None:
        """Take the picture away; no frame follows. May be called at any time and more than once."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._shown:
            return
        # Only then: who ends the process amid this stops it once more.
        self._tty.write(kitty.delete())
        self._frames.clear()
        self._shown = ""
        self._on_change()

    def _follow(self) -> None:
        now = asyncio.get_running_loop().time()
        role = "" if self._is_held or not self.is_able else self.waiting.role(now)
        if role == self._shown and role:
            return
        self.stop()
        if role:
            self._start(role)
        elif self.is_able and not self._is_held and (due := self.waiting.due(now)) is not None:
            self._later = asyncio.get_running_loop().call_later(due + 0.001, self._follow)

    def _start(self, role: str) -> None:
        size = self._tty.size()
        if rain.grid_for(size.columns, size.rows) is None:
            return
        self._shown = role
        self._task = asyncio.ensure_future(self._fall(role))
        self._on_change()

    async def _fall(self, role: str) -> None:
        mine, grid = asyncio.current_task(), None
        pictures: Iterator[bytes] = iter(())
        while self._shown == role and self._task is mine:
            size = self._tty.size()
            if (now := rain.grid_for(size.columns, size.rows)) != grid:
                grid, pictures = now, _pictures(now, role)
            if grid is None or not self._draw(grid, next(pictures)):
                self.stop()
                return
            await asyncio.sleep(self._tick)

    def _draw(self, grid: rain.Grid, picture: bytes) -> bool:
        try:
            name = self._frames.put(picture)
        except OSError:
            self.is_able = False
            return False
        strip = kitty.Strip(1, 2 * grid.columns, grid.rows)
        self._tty.write(kitty.place(name, grid.pixels, strip))
        return True


def _pictures(grid: rain.Grid | None, role: str) -> Iterator[bytes]:
    return iter(()) if grid is None else rain.frames(grid, theme.role_colour(role), secrets.randbits(32))
