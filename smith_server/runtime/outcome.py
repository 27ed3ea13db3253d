"""What a turn came to, folded from its events: for the one who asked for it and for a cancel."""

from typing import Any

from msgspec import Struct

from smith_server.core.errors import AgentError
from smith_server.core.events import (
    CallFinished,
    ErrorReported,
    Event,
    MessageAdded,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from smith_server.core.messages import AssistantMessage, Usage


class TurnOutcome(Struct, frozen=True):
    """The result of one turn. `text` is the last thing the model said; `denied` calls nobody could be asked about."""

    turn: str
    stop_reason: str
    text: str = ""
    error: AgentError | None = None
    usage: Usage = Usage()
    denied: tuple[str, ...] = ()


class CancelOutcome(Struct, frozen=True):
    """What a cancel ended: calls never run, commands killed, edits already applied, edits and prompts
    dropped, edits of which nobody knows."""

    cancelled: bool
    closed: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class TurnRecord:
    """Watches the events of one turn."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.text = ""
        self.denied: list[str] = []
        self.stop_reason = ""
        self.error: AgentError | None = None
        self.usage = Usage()
        self._calls: dict[str, list[str]] = {"closed": [], "killed": [], "applied": [], "dropped": [], "unknown": []}

    def see(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case TurnStarted():
                self.text = ""
            case MessageAdded(message) if isinstance(message, AssistantMessage):
                self.text = message.text or self.text
            case CallFinished():
                self._see_call(event)
            case ErrorReported(error) if error.kind == "budget_exhausted":
                self.error = error
            case TurnCompleted(stop_reason, usage):
                self.stop_reason, self.usage = stop_reason, usage
            case TurnCancelled(usage):
                self.stop_reason, self.usage = "cancelled", usage
            case TurnFailed(error, usage):
                self.stop_reason, self.error, self.usage = "error", error, usage

    def _see_call(self, event: CallFinished) -> None:
        label = f"{event.name} {event.call_id}"
        match event.code:
            case "nobody_to_ask":
                self.denied.append(event.name)
            case "cancelled":
                self._calls["closed" if event.mutation == "none" else "killed"].append(label)
            case "edit_withdrawn":
                self._calls["dropped"].append(label)
            case "edit_unknown":
                self._calls["unknown"].append(label)
            case "" if event.diff:
                self._calls["applied"].append(label)

    def outcome(self) -> TurnOutcome:
        """What the turn came to so far."""
        return TurnOutcome(self.turn, self.stop_reason, self.text, self.error, self.usage, tuple(self.denied))

    def stopped(self, dropped: tuple[str, ...]) -> CancelOutcome:
        """What a cancel of this turn ended; `dropped` are prompts that waited behind it."""
        lists: dict[str, Any] = {name: tuple(labels) for name, labels in self._calls.items()}
        lists["dropped"] = (*lists["dropped"], *dropped)
        return CancelOutcome(self.stop_reason == "cancelled", **lists)
