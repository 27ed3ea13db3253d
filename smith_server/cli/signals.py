"""Signals that ask a command to end, and what a person means by Ctrl-C."""

import asyncio
import math
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Literal

from smith_server.cli.streams import INTERRUPTED, SIGNALLED

ENDING = (signal.SIGTERM, signal.SIGHUP)
AGAIN_SECONDS = 2.0
"""Within this time a second Ctrl-C leaves."""


class Stop:
    """The wish to end. The first signal calls `wish` on the loop, the second ends the process at once, behind `last`.

    `code` is the exit code that the signal stands for, 0 while there was none.
    """

    def __init__(self, wish: Callable[[], None], last: Callable[[], None] = lambda: None) -> None:
        self.code = 0
        self._wish = wish
        self._last = last
        self._loop = asyncio.get_running_loop()

    def watch(self, *numbers: signal.Signals) -> None:
        """Take these signals from now on; one that our starter had us ignore (`nohup`, `&`) stays ignored."""
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:
                # Not the loop's own handlers: these work even while a write to a full pipe blocks it.
                signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.code:
            self._last()
            os._exit(self.code)
        self.code = SIGNALLED + number
        self._loop.call_soon_threadsafe(self._wish)


class Presses:
    """Ctrl-C in a conversation: stops the turn; a second one soon after it leaves, and a third one at once.

    `code` is the exit code of leaving so: 130 when a turn ran.
    """

    def __init__(self) -> None:
        self.code = 0
        self._last = -math.inf
        self._has_stopped = False
        self._leaves = False

    def press(self, now: float, *, runs: bool) -> Literal["stop", "hint", "leave", "end"]:
        """What to do now, `now` in seconds of any clock; `runs` tells whether a turn does."""
        if self._leaves:
            return "end"
        is_again, self._last = now - self._last < AGAIN_SECONDS, now
        self._has_stopped = runs or (is_again and self._has_stopped)
        if is_again:
            self._leaves = True
            self.code = INTERRUPTED if self._has_stopped else 0
            return "leave"
        return "stop" if runs else "hint"
