"""The list of messages and its one invariant: every call has exactly one result, right after it.

Whoever stops in the middle closes the open calls here, so the next request is always valid.
"""

from collections.abc import Iterable, Sequence

from smith_server.core.messages import AssistantMessage, Call, Message, ToolMessage


class Conversation:
    """The transcript of one conversation, or of one child, in memory."""

    def __init__(self, messages: Iterable[Message] = (), next_turn: int = 1) -> None:
        self.messages: list[Message] = list(messages)
        self._next_turn = next_turn
        self._turn = ""
        self._next_message = 1

    def begin_turn(self) -> str:
        """Start a turn and return its id: `t000001` and so on, never given twice in a conversation."""
        self._turn = f"t{self._next_turn:06d}"
        self._next_turn += 1
        self._next_message = 1
        return self._turn

    def mint(self) -> str:
        """The id of the next message of the running turn: turn id, a dot, four digits."""
        name = f"{self._turn}.{self._next_message:04d}"
        self._next_message += 1
        return name

    def add(self, message: Message) -> None:
        """Append a message. Raises `ValueError` where it would break the pairing of calls."""
        expected = self.open_calls()
        if isinstance(message, ToolMessage):
            if message.call_id not in {call.id for call in expected}:
                raise ValueError(f"no open call {message.call_id!r}")
        elif expected:
            raise ValueError(f"calls without a result: {[call.id for call in expected]}")
        self.messages.append(message)

    def open_calls(self) -> tuple[Call, ...]:
        """The calls of the last reply that have no result yet, in call order."""
        answered: set[str] = set()
        for message in reversed(self.messages):
            if isinstance(message, AssistantMessage):
                return tuple(call for call in message.calls if call.id not in answered)
            if not isinstance(message, ToolMessage):
                break
            answered.add(message.call_id)
        return ()

    def close(self, code: str, content: str) -> Sequence[ToolMessage]:
        """Give every open call a synthetic result; the results, already added."""
        results = [self.result(call, content, ok=False, code=code) for call in self.open_calls()]
        for result in results:
            self.add(result)
        return results

    def result(self, call: Call, content: str, *, ok: bool = True, code: str = "") -> ToolMessage:
        """A result message for `call`, not yet added."""
        return ToolMessage(self.mint(), call.id, call.name, content, ok, code)


def turn_of(message_id: str) -> str:
    """The id of the turn that a message belongs to."""
    return message_id.partition(".")[0]


def turn_number(turn: str) -> int:
    """`t000012` → 12."""
    return int(turn.removeprefix("t"))
