"""What of events is stored: each as the writes that it means."""

from collections.abc import Iterable, Iterator

import msgspec

from smith_server.core.conversation import turn_of
from smith_server.core.events import (
    ContextCompacted,
    Envelope,
    Event,
    MessageAdded,
    OutputDelta,
    PromptDropped,
    PromptEdited,
    PromptQueued,
    PromptTaken,
    ReasoningDelta,
    RequestRetried,
    RequestStarted,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    UsageUpdated,
)
from smith_server.core.messages import Usage
from smith_server.store.holder import Holder
from smith_server.store.keys import new_id
from smith_server.store.writes import (
    AddCompaction,
    AddMessage,
    AddPiece,
    CloseTurn,
    DropPieces,
    DropPrompt,
    EditPrompt,
    OpenTurn,
    QueuePrompt,
    SetUsage,
    TurnState,
    Write,
)


class Records:
    """Makes writes of events. Between them it remembers which model each turn was last given to."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._models: dict[tuple[str, str], tuple[str, str]] = {}
        """Model and provider, by conversation and job."""

    def of(self, envelope: Envelope) -> Iterator[Write]:
        """The writes that an event means, in order."""
        event, name, job = envelope.event, envelope.conversation, envelope.job
        match event:
            case OutputDelta(message, text):
                yield AddPiece(name, message, text, "text", job)
            case ReasoningDelta(message, text):
                yield AddPiece(name, message, text, "thinking", job)
            case RequestRetried(message, discard_output=True):
                yield DropPieces(name, message, job)
            case MessageAdded(message):
                yield AddMessage(name, message, job)
            case ContextCompacted():
                yield from self._compacted(envelope, event)
            case RequestStarted(model, provider):
                self._models[name, job] = (model, provider)
            case UsageUpdated(turn_usage):
                # What a turn has used by now is known even if its process is killed.
                yield self._usage(envelope, turn_usage)
            case _:
                yield from self._prompt(envelope, event)

    def _compacted(self, envelope: Envelope, event: ContextCompacted) -> Iterator[Write]:
        """A child's view ends with it and is not stored. Outside a turn the summary is an expense of its own."""
        if envelope.job:
            return
        if event.steps:
            yield AddCompaction(envelope.conversation, event.record)
        if not envelope.turn and event.usage.requests:
            turn = turn_of(event.record.upto)
            yield SetUsage(envelope.conversation, turn, event.usage, new_id(), "summary")

    def _prompt(self, envelope: Envelope, event: Event) -> Iterable[Write]:
        """What becomes of prompts: they wait, are dropped, open a turn, and the turn ends."""
        match event:
            case TurnStarted(text, queued):
                return (self._opening(envelope, text), *_taken(envelope, queued))
            case PromptQueued(id, text, _, record):
                return (QueuePrompt(envelope.conversation, id, text, record),)
            case PromptEdited(id, text):
                return (EditPrompt(envelope.conversation, id, text),)
            case PromptDropped(id) | PromptTaken(id):
                return (DropPrompt(envelope.conversation, id),)
            case _:
                return self._end(envelope, event)

    def _opening(self, envelope: Envelope, text: str) -> OpenTurn:
        return OpenTurn(
            envelope.conversation,
            envelope.turn,
            text,
            self._holder,
            job=envelope.job,
            parent=envelope.parent,
            call=envelope.call,
            role=envelope.role,
            depth=bool(envelope.job) + bool(envelope.parent),
        )

    def _usage(self, envelope: Envelope, used: Usage) -> SetUsage:
        model, _ = self._models.get((envelope.conversation, envelope.job), ("", ""))
        return SetUsage(envelope.conversation, envelope.turn, used, envelope.job or "parent", envelope.role, model)

    def _end(self, envelope: Envelope, event: Event) -> Iterable[Write]:
        ended = _ended(event)
        if ended is None:
            return ()
        state, usage, why = ended
        # A turn that broke off in the middle does not know what it used; what was stored of that stays.
        used = (self._usage(envelope, usage),) if usage.requests else ()
        model, provider = self._models.pop((envelope.conversation, envelope.job), ("", ""))
        record = {**why, "model": model, "provider": provider, "usage": msgspec.to_builtins(usage)}
        return *used, CloseTurn(envelope.conversation, envelope.turn, state, envelope.job, record)


def _taken(envelope: Envelope, queued: str) -> Iterable[Write]:
    return (DropPrompt(envelope.conversation, queued),) if queued else ()


def _ended(event: Event) -> tuple[TurnState, Usage, dict[str, str]] | None:
    """The state of the turn that `event` ends, what it used, and why it ended."""
    match event:
        case TurnCompleted(stop_reason, usage):
            return "completed", usage, {"stop_reason": stop_reason}
        case TurnCancelled(usage):
            return "cancelled", usage, {"stop_reason": "cancelled"}
        case TurnFailed(error, usage):
            why = {"stop_reason": "error", "kind": error.kind, "code": error.code, "message": error.message}
            return "error", usage, why
        case _:
            return None
