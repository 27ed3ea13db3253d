"""The life of a session: a table of what may follow what, and the moments when it did."""

import time
from typing import Literal

import msgspec
from msgspec import Struct

from smith_server.core.errors import AgentError, failure

Status = Literal["created", "running", "stopped", "failed"]

_NEXT: dict[tuple[Status, str], Status] = {
    ("created", "start"): "running",
    ("created", "stop"): "stopped",
    ("created", "fail"): "failed",
    ("running", "stop"): "stopped",
    ("running", "fail"): "failed",
    ("stopped", "stop"): "stopped",
    ("stopped", "fail"): "stopped",
    ("failed", "stop"): "failed",
    ("failed", "fail"): "failed",
}


class Life(Struct, frozen=True):
    """Where a session is in its life; times are seconds since 1970, 0 for not yet."""

    status: Status = "created"
    started_at: float = 0.0
    stopped_at: float = 0.0
    stop_reason: str = ""
    error: AgentError | None = None

    def start(self) -> "Life":
        """It runs from now on. Raises internal/`session_state` for one that ran before."""
        return msgspec.structs.replace(self, status=self._after("start"), started_at=time.time())

    def stop(self, reason: str) -> "Life":
        """It has ended; one that ended before stays as it is."""
        return self._ended("stop", reason, None)

    def fail(self, error: AgentError) -> "Life":
        """It has ended because of `error`; one that ended before stays as it is."""
        return self._ended("fail", error.message, error)

    def require_running(self) -> None:
        """Raises internal/`session_state` when no turn may begin."""
        if self.status != "running":
            text = f"This conversation is not open any more ({self.stop_reason or self.status}). Open it again."
            raise failure("internal", "session_state", text)

    def _ended(self, step: str, reason: str, error: AgentError | None) -> "Life":
        status = self._after(step)
        if self.stopped_at:
            return self
        return msgspec.structs.replace(self, status=status, stopped_at=time.time(), stop_reason=reason, error=error)

    def _after(self, step: str) -> Status:
        if (self.status, step) not in _NEXT:
            raise failure("internal", "session_state", f"A session that is {self.status} cannot {step}.")
        return _NEXT[self.status, step]
