"""Signals that ask a command to end."""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from smith_server.cli.streams import SIGNALLED

ENDING = (signal.SIGTERM, signal.SIGHUP)
LAST_SECONDS = 1.0
"""So long the last thing may take: a terminal that nobody reads takes no output, for ever."""


class Stop:
    """The wish to end. The first signal calls `wish` on the loop, the second ends the process at once, behind `last`.

    `code` is the exit code that the signal stands for, 0 while there was none.
    """

    def __init__(self, wish: Callable[[], None], last: Callable[[], None] = lambda: None) -> None:
        self.code = 0
        self._ends = False
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
            self._end()
        self.code = SIGNALLED + number
        self._loop.call_soon_threadsafe(self._wish)

    def _end(self) -> NoReturn:
        if self._ends:
            os._exit(self.code)
        self._ends = True
        signal.signal(signal.SIGALRM, self._take)
        signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
        try:
            self._last()
        finally:
            os._exit(self.code)
