"""How long to wait for a model: the limits, and the deadline that follows from what came so far. No I/O."""

from msgspec import Struct


class Timeouts(Struct, frozen=True):
    """Limits in seconds.

    `stall` covers headers and body and is counted anew with each data event. Before the first one
    a provider's comments prolong it, up to `queue` in all. `whole` bounds an answer that is not
    streamed, `ending` what may still follow the reason that ended the answer, `error_body` the
    text of a refusal.
    """

    connect: float = 10.0
    send: float = 30.0
    stall: float = 300.0
    queue: float = 900.0
    whole: float = 600.0
    ending: float = 5.0
    error_body: float = 5.0


class StallClock:
    """The moment after which waiting is over. Times are those of one monotonic clock."""

    def __init__(self, timeouts: Timeouts, began: float) -> None:
        self._timeouts = timeouts
        self._began = began
        self._events = 0
        self._comments = 0
        self.deadline = began + timeouts.stall

    def whole(self) -> None:
        """The answer comes in one piece: silence says nothing, only its total time counts."""
        self.deadline = self._began + self._timeouts.whole

    def refused(self, now: float) -> None:
        """The status was an error: its text is worth a short wait."""
        self.deadline = now + self._timeouts.error_body

    def saw(self, events: int, comments: int, complete: bool, now: float) -> None:
        """Note the data events and comments counted so far, and whether the answer is complete."""
        limits = self._timeouts
        if events != self._events:
            self.deadline = now + limits.stall
        elif not events and comments != self._comments:
            self.deadline = min(now + limits.stall, self._began + max(limits.queue, limits.stall))
        if complete and events != self._events:
            self.deadline = now + min(limits.ending, limits.stall)
        self._events, self._comments = events, comments
