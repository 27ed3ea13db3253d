"""Stored messages as the events that would have shown them: how a face draws an old conversation."""

from collections.abc import Iterable, Iterator, Sequence

from smith_server.core.conversation import turn_of
from smith_server.core.events import (
    CallFinished,
    Event,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
)
from smith_server.core.execute import started
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage


def as_events(messages: Sequence[Message], running: str = "") -> Iterator[tuple[str, Event]]:
    """Turn id and event, in order; every turn but the `running` one is closed."""
    turn, ended = "", False
    for message in messages:
        if turn_of(message.id) != turn:
            if turn:
                yield turn, _end(ended)
            turn, ended = turn_of(message.id), False
        yield from ((turn, event) for event in _shown(message))
        ended = isinstance(message, AssistantMessage) and message.stop not in ("cancelled", "error")
    if turn and turn != running:
        yield turn, _end(ended)


def _end(whole: bool) -> Event:
    return TurnCompleted() if whole else TurnCancelled()


def _shown(message: Message) -> Iterable[Event]:
    match message:
        case UserMessage():
            return [TurnStarted(text=message.text), MessageAdded(message=message)]
        case AssistantMessage():
            return [*(_part(message, part) for part in message.parts), MessageAdded(message=message)]
        case ToolMessage():
            first = message.content.partition("\n")[0]
            finished = CallFinished(
                call_id=message.call_id,
                name=message.name,
                ok=message.ok,
                summary=first[:200],
                code=message.code,
                content=message.content,
            )
            return [finished, MessageAdded(message=message)]


def _part(message: AssistantMessage, part: Text | Thinking | Call) -> Event:
    match part:
        case Text(text):
            return OutputDelta(message=message.id, text=text)
        case Thinking(text):
            return ReasoningDelta(message=message.id, text=text)
        case Call():
            return started(part)
