"""Stored messages made into a list that a model can be sent: every call with exactly one result."""

from collections.abc import Iterable

from msgspec import Struct

from smith_server.core.messages import AssistantMessage, Call, Message, ToolMessage

INTERRUPTED = "interrupted"
NO_RESULT = (
    "Interrupted: the program ended before the result of this call was stored. It may have run, wholly or in part, "
    "or not at all. Look at the state of things before doing it again."
)


class Lost(Struct, frozen=True):
    """A stored message that cannot be read."""

    id: str
    kind: str


class _Round:
    """A reply and the calls of it that still wait for their result."""

    def __init__(self, reply: str, calls: Iterable[Call]) -> None:
        self.reply = reply
        self.calls = {call.id: call for call in calls}
        self.lost: list[str] = []


def no_result(name: str, call: Call) -> ToolMessage:
    """The result of a call whose own was never stored; `name` is its message id."""
    return ToolMessage(name, call.id, call.name, NO_RESULT, ok=False, code=INTERRUPTED)


def paired(stored: Iterable[Message | Lost], *, is_running: bool = False) -> list[Message]:
    """The messages in order, made valid where a row is missing or cannot be read.

    A call without a result gets one that says so, a result without its call is left out. With
    `is_running` the calls of the last reply stay open: their results are still to come.
    """
    messages: list[Message] = []
    current = _Round("", ())
    for item in stored:
        match item:
            case Lost():
                if item.kind == "tool":
                    current.lost.append(item.id)
                elif item.kind == "assistant":
                    messages += _closed(current)
                    current = _Round(item.id, ())
            case ToolMessage():
                if current.calls.pop(item.call_id, None) is not None:
                    messages.append(item)
            case _:
                messages += _closed(current)
                current = _Round(item.id, item.calls if isinstance(item, AssistantMessage) else ())
                messages.append(item)
    return messages if is_running else messages + _closed(current)


def _closed(current: _Round) -> list[Message]:
    """Results for what is open, under the ids of lost ones as far as there are any."""
    names = [*current.lost, *(f"{current.reply}-{number}" for number in range(1, len(current.calls) + 1))]
    return [no_result(name, call) for name, call in zip(names, current.calls.values(), strict=False)]
