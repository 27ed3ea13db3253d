"""What a conversation is made of: our own message types, with no vendor's shape in them.

Messages are frozen: an encoded or stored one stays right for as long as the object lives.
"""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct, field

StopReason = Literal["stop", "tool_use", "max_tokens", "content_filter", "cancelled", "error"]


class Text(Struct, frozen=True, tag="text", omit_defaults=True):
    """Words for the person."""

    text: str


class Thinking(Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning of the model.

    `replay` is what the provider named by `provider` wants back, unchanged and in this place;
    no other provider gets it.
    """

    text: str
    provider: str = ""
    replay: dict[str, Any] = {}


class Call(Struct, frozen=True, tag="call", omit_defaults=True):
    """A tool call as the model wrote it.

    `arguments` is the text as received, even when it is no JSON; `extra` is a provider's own
    addition that has to go back with the call.
    """

    id: str
    name: str
    arguments: str = "{}"
    extra: dict[str, Any] = {}


Part = Text | Thinking | Call


class Image(Struct, frozen=True):
    """A picture: its media type, such as `image/png`, and the bytes of the file."""

    media_type: str
    data: bytes


class UserMessage(Struct, frozen=True, tag="user", omit_defaults=True):
    """What a person, or a program in their place, said; `attached` is what they pointed at, in words.

    `aside`: it is a word of smith to the model, which faces do not show.
    """

    id: str
    text: str
    attached: str = ""
    images: tuple[Image, ...] = ()
    aside: bool = False

    @property
    def whole(self) -> str:
        """What the model reads."""
        return "\n\n".join(filter(None, (self.text, self.attached)))


class AssistantMessage(Struct, frozen=True, tag="assistant", omit_defaults=True):
    """One reply of the model, whole or as far as it came."""

    id: str
    parts: tuple[Part, ...] = ()
    model: str = ""
    stop: StopReason = "stop"

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def text(self) -> str:
        return joined_text(self.parts)


class ToolMessage(Struct, frozen=True, tag="tool", omit_defaults=True):
    """The one result of one call.

    `code` names why it failed ("" when it did not); `recall_key` names where the full text can be
    had again; `summary` is one line for the person, `diff` what an edit did. None of them goes to a provider.
    """

    id: str
    call_id: str
    name: str
    content: str
    ok: bool = True
    code: str = ""
    recall_key: str = ""
    summary: str = ""
    diff: str = ""


Message = UserMessage | AssistantMessage | ToolMessage


class Usage(Struct, frozen=True):
    """Tokens of one or more requests, in four classes that do not overlap, and what they cost.

    `cost` is in US dollars, of all but the `unpriced` requests, whose cost nobody knows.
    """

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    requests: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
            self.requests + other.requests,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
        )

    @property
    def known_cost(self) -> float | None:
        """What everything cost, in US dollars; None when the cost of a request is not known."""
        return None if self.unpriced else self.cost

    @property
    def context(self) -> int:
        """Tokens that the model saw: everything but its own output."""
        return self.input + self.cache_write + self.cache_read


class ToolSpec(Struct, frozen=True):
    """What a model is told of a tool: `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=dict)


def joined_text(parts: Iterable[Part]) -> str:
    """The words for the person in `parts`, without reasoning and calls."""
    return "".join(part.text for part in parts if isinstance(part, Text))
