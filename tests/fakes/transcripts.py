"""Transcripts of a few words per message; ids are positions."""

from collections.abc import Sequence

from smith_server.core.messages import AssistantMessage, Call, Message, Text, ToolMessage, UserMessage


class Transcript(list[Message]):
    """A list of messages with a word for each kind of step. Sizes are in characters."""

    def prompt(self, size: int = 8) -> "Transcript":
        self.append(UserMessage(str(len(self)), "p" * size))
        return self

    def words(self, size: int = 8) -> "Transcript":
        self.append(AssistantMessage(str(len(self)), (Text("w" * size),)))
        return self

    def round(self, *sizes: int, recall_key: str = "", answered: int | None = None) -> "Transcript":
        """A reply with a call per size, and a result of that size for the first `answered` of them."""
        at = len(self)
        calls = [Call(f"c{at}.{number}", "read", "{}") for number in range(len(sizes))]
        self.append(AssistantMessage(str(at), tuple(calls)))
        for call, size in list(zip(calls, sizes, strict=True))[:answered]:
            self.append(ToolMessage(str(len(self)), call.id, "read", "r" * size, recall_key=recall_key))
        return self

    def orphan(self, size: int = 8) -> "Transcript":
        self.append(ToolMessage(str(len(self)), f"nobody{len(self)}", "read", "o" * size))
        return self

    def rounds(self, count: int, size: int) -> "Transcript":
        for _ in range(count):
            self.round(size)
        return self


def ids(messages: Sequence[Message]) -> list[int]:
    return [int(message.id) for message in messages]


def contents(messages: Sequence[Message]) -> list[str]:
    """The texts of the results."""
    return [message.content for message in messages if isinstance(message, ToolMessage)]
