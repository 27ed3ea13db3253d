"""What takes the space of a request, by kind. Pure."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from smith_server.core.compaction import is_summary
from smith_server.core.estimate import characters, tokens
from smith_server.core.messages import AssistantMessage, Call, Message, Part, Text, Thinking, ToolMessage, UserMessage

_KINDS = ("summary", "prompts", "answers", "thinking", "calls", "results", "other")


class Space(Struct, frozen=True):
    """Tokens by what they are spent on, in the order of a request, and what they are measured against.

    `elided`, `dropped` and `covered` (by a summary) count messages that are left out or shortened.
    """

    parts: tuple[tuple[str, int], ...]
    estimate: int
    trigger: int
    target: int
    ceiling: int
    elided: int = 0
    dropped: int = 0
    covered: int = 0

    @property
    def largest(self) -> Sequence[tuple[str, int]]:
        """The parts that take anything, the largest first."""
        return sorted((part for part in self.parts if part[1]), key=lambda part: -part[1])


def by_kind(messages: Iterable[Message], factor: float) -> tuple[tuple[str, int], ...]:
    """Tokens of messages by kind, all kinds in a fixed order."""
    sizes = dict.fromkeys(_KINDS, 0)
    for message in messages:
        for kind, size in _kinds(message):
            sizes[kind] += size
    return tuple((kind, tokens(size, factor)) for kind, size in sizes.items())


def _kinds(message: Message) -> Iterable[tuple[str, int]]:
    match message:
        case UserMessage():
            return [("summary" if is_summary(message) else "prompts", characters(message))]
        case ToolMessage():
            return [("results", characters(message))]
        case AssistantMessage(id, parts):
            return [(_kind(part), characters(AssistantMessage(id, (part,)))) for part in parts]


def _kind(part: Part) -> str:
    match part:
        case Text():
            return "answers"
        case Thinking():
            return "thinking"
        case Call():
            return "calls"
    return "other"
