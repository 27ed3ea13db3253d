"""Ending processes: asked first, forced after a grace, and told which ones are left."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Collection

from smith_server.proc.living import Process, living

_FORCING = 1.0
"""Seconds in which KILL is sent again, to what a dying process may just have started."""


async def end(groups: Collection[int], mark: str, grace: float) -> tuple[Process, ...]:
    """TERM to `groups` and to what carries `mark`, KILL after `grace` seconds; answers who is left after that.

    Waits for no pipe. A stopped process is continued, so that it can obey. A cancellation in the
    middle kills at once.
    """
    ours = set(groups)
    try:
        _send(ours, mark, signal.SIGTERM, signal.SIGCONT)
        if await _gone(ours, mark, grace):
            return ()
        deadline = time.monotonic() + _FORCING
        while time.monotonic() < deadline:
            _send(ours, mark, signal.SIGKILL)
            if await _gone(ours, mark, 0.1):
                return ()
    except asyncio.CancelledError:
        _send(ours, mark, signal.SIGKILL)
        raise
    return living(ours, mark)


def _send(ours: set[int], mark: str, *signals: signal.Signals) -> None:
    """Signal every group, with those that descendants have made for themselves; `ours` learns them."""
    ours.update(each.group for each in living(ours, mark))
    for group in ours:
        for number in signals:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)


async def _gone(ours: set[int], mark: str, within: float) -> bool:
    deadline = time.monotonic() + within
    pause = 0.005
    while living(ours, mark):
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        await asyncio.sleep(min(pause, left))
        pause = min(2 * pause, 0.08)
    return True
