"""Stored messages as the events that would have shown them: how a face draws an old conversation."""

from collections.abc import Iterable, Iterator, Sequence

from smith_server.core.conversation import turn_of
from smith_server.core.errors import agent_error
from smith_server.core.events import (
    CallFinished,
    Event,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from smith_server.core.execute import started
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage


def as_events(messages: Sequence[Message], running: str = "") -> Iterator[tuple[str, Event]]:
    """Turn id and event, in order; every turn but the `running` one is closed."""
    turn, last = "", None
    for message in messages:
        if turn_of(message.id) != turn:
            if last is not None:
                yield turn, _end(last)
            turn = turn_of(message.id)
        yield from ((turn, event) for event in _shown(message))
        last = message
    if last is not None and turn != running:
        yield turn, _end(last)


def _end(last: Message) -> Event:
    """What the last message of a turn tells of its end; why one failed is not stored."""
    match last:
        case AssistantMessage(stop="cancelled") | ToolMessage(code="cancelled"):
            return TurnCancelled()
        case AssistantMessage(stop=stop) if stop != "error":
            return TurnCompleted()
        case _:
            return TurnFailed(error=agent_error("transport", "no_end", "This turn ended without an answer."))


def _shown(message: Message) -> Iterable[Event]:
    match message:
        case UserMessage(aside=True):
            return [MessageAdded(message=message)]
        case UserMessage():
            return [TurnStarted(text=message.text), MessageAdded(message=message)]
        case AssistantMessage():
            return [*(_part(message, part) for part in message.parts), MessageAdded(message=message)]
        case ToolMessage():
            finished = CallFinished(
                call_id=message.call_id,
                name=message.name,
                ok=message.ok,
                summary=message.summary or message.content.partition("\n")[0][:200],
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
