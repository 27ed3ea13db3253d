"""What a person means by Ctrl-C: stop the turn, clear the input, leave; a second one soon after leaves too."""

import math
from typing import Literal

AGAIN_SECONDS = 2.0
"""Within this time a second Ctrl-C leaves."""

INTERRUPTED = 130


class Presses:
    """`code` is the exit code of leaving: 130 when a turn ran."""

    def __init__(self) -> None:
        self.code = 0
        self._last = -math.inf
        self._has_stopped = False
        self._leaves = False

    def press(self, now: float, *, runs: bool, is_empty: bool) -> Literal["stop", "clear", "leave", "end"]:
        """What to do at `now` (seconds of any clock): `runs` tells of a turn, `is_empty` of the input.

        Where an empty input cannot be told from another, nobody leaves with the first press: `is_empty` is False.
        """
        if self._leaves:
            return "end"
        is_again, self._last = now - self._last < AGAIN_SECONDS, now
        self._has_stopped = runs or (is_again and self._has_stopped)
        if is_again or (not runs and is_empty):
            self._leaves = True
            self.code = INTERRUPTED if self._has_stopped else 0
            return "leave"
        return "stop" if runs else "clear"
