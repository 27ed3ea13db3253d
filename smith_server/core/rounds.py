"""Messages as the units that a request is made of: a tool round, or one other message.

A round is a reply with calls and the result of every one of them. What no provider takes, a reply
whose calls are not all answered or a result that answers nothing, belongs to no unit.
"""

from msgspec import structs

from smith_server.core.estimate import characters
from smith_server.core.messages import AssistantMessage, Message, ToolMessage, UserMessage


class Unit:
    """Messages that are sent together or not at all; `size` is in characters.

    `sent` and `dropped` say what became of it in the requests made so far.
    """

    def __init__(self, *messages: Message) -> None:
        self.messages = list(messages)
        self.size = sum(map(characters, messages))
        self.sent = False
        self.dropped = False

    @property
    def is_round(self) -> bool:
        return len(self.messages) > 1

    @property
    def is_prompt(self) -> bool:
        return isinstance(self.messages[0], UserMessage)

    def add(self, message: Message) -> None:
        """One more message of this unit."""
        self.messages.append(message)
        self.size += characters(message)

    def gain(self, over: int, can_recall: bool) -> int:
        """Characters that `elide` would free; a placeholder longer than its result frees none."""
        results = (self.messages[at] for at in self._results(over))
        return sum(max(0, characters(result) - len(_stand_in(result, can_recall))) for result in results)

    def elide(self, over: int, can_recall: bool) -> int:
        """Send placeholders for results of more than `over` characters; how many. Their messages stay as they are."""
        positions = self._results(over)
        for at in positions:
            result = self.messages[at]
            content = _stand_in(result, can_recall)
            self.messages[at] = structs.replace(result, content=content)
            self.size += len(content) - characters(result)
        return len(positions)

    def _results(self, over: int) -> list[int]:
        return [
            at
            for at, message in enumerate(self.messages)
            if isinstance(message, ToolMessage) and len(message.content) > over
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


def _stand_in(result: Message, can_recall: bool) -> str:
    key = result.recall_key if can_recall and isinstance(result, ToolMessage) else ""
    return placeholder(characters(result), key)
