"""A running command's output on its way to a screen: clean text, a little of it, now and then."""

import asyncio
from collections.abc import Callable

from smith_server.proc.clean import Cleaner
from smith_server.proc.output import start_of_characters

INTERVAL = 0.05
"""Seconds between two pieces of text."""

MOST = 4096
"""Bytes of a piece of text; of what comes faster only the latest is shown."""

_GAP = "\n[…]\n"


class Live:
    """Takes raw pieces of any size and rate, gives `show` at most `MOST` bytes every `INTERVAL`.

    A command that is over before the first interval shows nothing here: its result comes at once.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._cleaner = Cleaner()
        self._waiting = b""
        self._gap = False
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, piece: bytes) -> None:
        """Show `piece`, or its end, at the next occasion."""
        joined = self._waiting + piece[-MOST:]
        self._gap = self._gap or len(self._waiting) + len(piece) > MOST
        self._waiting = joined[-MOST:]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._flush)

    def stop(self) -> None:
        """Show nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self) -> None:
        self._timer = None
        data, self._waiting = self._waiting, b""
        before = ""
        if self._gap:
            self._gap, self._cleaner, before = False, Cleaner(), _GAP
            data = data[max(data.find(b"\n") + 1, start_of_characters(data)) :]
        text = before + self._cleaner.feed(data) + self._cleaner.release()
        if text:
            self._show(_last(text))


def _last(text: str) -> str:
    data = text.encode()
    return text if len(data) <= MOST else data[-MOST:].decode(errors="ignore")
