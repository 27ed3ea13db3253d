"""Messages as the units that a request is made of: a tool round, or one other message.

A round is a reply with calls and the result of every one of them. What no provider takes, a reply
whose calls are not all answered or a result that answers nothing, belongs to no unit.
"""

from collections.abc import Iterator

from msgspec import structs

from smith_server.core.estimate import characters
from smith_server.core.messages import AssistantMessage, Message, ToolMessage, UserMessage


class Unit:
    """Messages that are sent together or not at all; `size` is in characters.

    `sent` and `dropped` say what became of it in the requests made so far; `is_old` that it is no
    longer among the newest rounds, whose results stay.
    """

    def __init__(self, *messages: Message) -> None:
        self.messages = list(messages)
        self.size = sum(map(characters, messages))
        self.sent = False
        self.dropped = False
        self.is_old = False
        self._rewritten: set[int] = set()

    @property
    def is_round(self) -> bool:
        return len(self.messages) > 1

    @property
    def is_prompt(self) -> bool:
        first = self.messages[0]
        return isinstance(first, UserMessage) and not first.aside

    def add(self, message: Message) -> None:
        """One more message of this unit."""
        self.messages.append(message)
        self.size += characters(message)

    def gain(self, over: int, can_recall: bool) -> int:
        """Characters that `elide` would free; a placeholder longer than its result frees none."""
        results = (self.messages[at] for at in self._results(over))
        return sum(max(0, characters(result) - len(stand_in(result, can_recall))) for result in results)

    def elide(self, over: int, can_recall: bool) -> int:
        """Send placeholders for results of more than `over` characters; how many. Their messages stay as they are."""
        positions = self._results(over)
        for at in positions:
            result = self.messages[at]
            self.replace(at, structs.replace(result, content=stand_in(result, can_recall)))
        return len(positions)

    def replace(self, at: int, message: Message) -> None:
        """Send `message` in the place of the one at `at`."""
        self.size += characters(message) - characters(self.messages[at])
        self.messages[at] = message
        self._rewritten.add(at)

    def untouched(self) -> Iterator[tuple[int, Message]]:
        """The messages that are sent as they are stored, with their places."""
        return ((at, message) for at, message in enumerate(self.messages) if at not in self._rewritten)

    def _results(self, over: int) -> list[int]:
        return [
            at for at, message in self.untouched() if isinstance(message, ToolMessage) and len(message.content) > over
        ]


class Grouping:
    """Follows a transcript message by message."""

    def __init__(self) -> None:
        self._round: Unit | None = None
        self._awaited: list[str] = []

    def add(self, message: Message) -> Unit | None:
        """The unit that `message` completes, if it does."""
        if isinstance(message, ToolMessage):
            return self._answer(message)
        self._round, self._awaited = None, []
        if isinstance(message, AssistantMessage) and (calls := message.calls):
            self._round, self._awaited = Unit(message), [call.id for call in calls]
            return None
        return Unit(message)

    def _answer(self, message: ToolMessage) -> Unit | None:
        if self._round is None or message.call_id not in self._awaited:
            return None
        self._awaited.remove(message.call_id)
        self._round.add(message)
        if self._awaited:
            return None
        complete, self._round = self._round, None
        return complete


def placeholder(length: int, recall_key: str = "") -> str:
    """What stands for an elided result of `length` code points; `recall_key` where it can be had again."""
    hint = f'; retrieve with recall(key="{recall_key}")' if recall_key else ""
    return f"[elided {length} chars of tool output{hint}]"


def stand_in(result: Message, can_recall: bool) -> str:
    """What is sent for an elided `result`; the key only to whoever can use it."""
    key = result.recall_key if can_recall and isinstance(result, ToolMessage) else ""
    return placeholder(characters(result), key)
