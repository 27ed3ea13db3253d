"""What goes on in each open conversation, folded from its events: for status lines, and for who comes late."""

from collections.abc import Iterator

from msgspec import Struct

from smith_server.core.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallStarted,
    ConversationChanged,
    DispatchStarted,
    Envelope,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    RequestRetried,
    RequestStarted,
    SessionFailed,
    SessionStarted,
    SessionStopped,
    TodosUpdated,
    TurnCancelled,
    TurnCancelRequested,
    TurnCompleted,
    TurnFailed,
    UsageUpdated,
)
from smith_server.core.messages import Usage

IDLE, THINKING, STREAMING, TOOL = "idle", "thinking", "streaming", "tool"


class Standing(Struct):
    """One conversation. `state` is `idle`, `thinking`, `streaming`, `tool`, `cancelling` or `error`.

    `model` and `provider` are those of its last request, `usage` that of its last turn, `context` the size of its last
    request in tokens, `cost` what it has cost in US dollars, None where that is not known. `questions` are those that
    wait for a person, by id. `partial` are the words of messages that are not whole yet, by child and message. `plan`
    is the last event that told of one.
    """

    state: str = IDLE
    model: str = ""
    provider: str = ""
    usage: Usage = Usage()
    context: int = 0
    cost: float | None = None
    questions: dict[str, Envelope] = {}
    partial: dict[tuple[str, str], list[Envelope]] = {}
    plan: Envelope | None = None

    def late(self) -> Iterator[Envelope]:
        """What somebody who comes late needs besides the messages: the plan, half-told ones, open questions."""
        if self.plan is not None:
            yield self.plan
        for pieces in self.partial.values():
            yield from pieces
        yield from self.questions.values()


class Standings:
    """A listener of the bus."""

    def __init__(self) -> None:
        self._known: dict[str, Standing] = {}

    def of(self, conversation: str) -> Standing:
        """What goes on in a conversation."""
        return self._known.setdefault(conversation, Standing())

    def take(self, envelope: Envelope) -> None:
        """Take in one event."""
        standing = self.of(envelope.conversation)
        match envelope.event:
            case OutputDelta() | ReasoningDelta():
                _grow(standing, envelope)
            case MessageAdded(message):
                standing.partial.pop((envelope.job, message.id), None)
            case RequestRetried(message, discard_output=True):
                standing.partial.pop((envelope.job, message), None)
            case ApprovalAsked(id):
                standing.questions[id] = envelope
            case ApprovalAnswered(id):
                standing.questions.pop(id, None)
            case SessionStopped() | SessionFailed() | ConversationChanged(change="deleted"):
                self._known.pop(envelope.conversation, None)
            case TurnCompleted() | TurnCancelled() | TurnFailed():
                standing.partial = {key: each for key, each in standing.partial.items() if key[0] != envelope.job}
        if not envelope.job:
            _see(standing, envelope)
            _see_plan(standing, envelope)


def _grow(standing: Standing, envelope: Envelope) -> None:
    event = envelope.event
    assert isinstance(event, OutputDelta | ReasoningDelta), "only these grow"
    pieces = standing.partial.setdefault((envelope.job, event.message), [])
    last = pieces[-1].event if pieces else None
    if isinstance(last, OutputDelta | ReasoningDelta) and type(last) is type(event):
        whole = type(event)(message=event.message, text=last.text + event.text)
        pieces[-1] = Envelope(
            envelope.conversation, envelope.turn, whole, envelope.job, envelope.call, envelope.role, envelope.parent
        )
    else:
        pieces.append(envelope)


def _see_plan(standing: Standing, envelope: Envelope) -> None:
    match envelope.event:
        case SessionStarted() | TodosUpdated(todos=()):
            standing.plan = None
        case TodosUpdated():
            standing.plan = envelope


def _see(standing: Standing, envelope: Envelope) -> None:
    """What an event of the conversation itself means for its status."""
    match envelope.event:
        case RequestStarted(model, provider):
            standing.state, standing.model, standing.provider = THINKING, model, provider
        case ReasoningDelta():
            standing.state = THINKING
        case OutputDelta():
            standing.state = STREAMING
        case CallStarted() | DispatchStarted():
            standing.state = TOOL
        case TurnCancelRequested():
            standing.state = "cancelling"
        case UsageUpdated(usage, context, cost):
            standing.usage, standing.context, standing.cost = usage, context or standing.context, cost
        case TurnFailed(usage=usage):
            standing.state, standing.usage = "error", usage
        case TurnCompleted(usage=usage) | TurnCancelled(usage):
            standing.state, standing.usage = IDLE, usage
