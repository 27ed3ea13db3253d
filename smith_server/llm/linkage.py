"""The one rule that every provider checks: each call has exactly one result, right after its message."""

from collections.abc import Iterable

from smith_server.core.messages import AssistantMessage, Message, ToolMessage


class Linkage:
    """Follows a transcript message by message; each question is answered by "" or by what is wrong.

    `known` are the ids of all calls so far.
    """

    def __init__(self) -> None:
        self._open: dict[str, None] = {}
        self.known: set[str] = set()

    def follow(self, message: Message) -> str:
        """Take in the next message."""
        if isinstance(message, ToolMessage):
            return self.result(message.call_id)
        return self.calls(calls_of(message))

    def calls(self, ids: tuple[str, ...]) -> str:
        """Take in a message that is no result, by the ids of its calls."""
        if problem := self.end():
            return problem
        for call_id in ids:
            if not call_id:
                return "a call has no id"
            if call_id in self.known:
                return f"the id {call_id!r} belongs to two calls"
            self.known.add(call_id)
            self._open[call_id] = None
        return ""

    def result(self, call_id: str) -> str:
        """Take in the result of a call."""
        if call_id not in self._open:
            return f"the result {call_id!r} belongs to no open call"
        del self._open[call_id]
        return ""

    def end(self) -> str:
        """Take in the end, or anything that closes a round."""
        return f"the call {next(iter(self._open))!r} has no result" if self._open else ""


def problem_of(messages: Iterable[Message]) -> str:
    """What is wrong with the calls and results of a transcript; "" when nothing is."""
    linkage = Linkage()
    for message in messages:
        if problem := linkage.follow(message):
            return problem
    return linkage.end()


def calls_of(message: Message) -> tuple[str, ...]:
    """The ids of the calls in a message."""
    return tuple(call.id for call in message.calls) if isinstance(message, AssistantMessage) else ()
