"""How much a model reads, estimated from characters: four of them are a token.

Characters are code points. What a provider reports corrects the estimate of the next request.
"""

import math

from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage

CHARACTERS_PER_TOKEN = 4
_CHARACTERS_PER_IMAGE = 6400


def tokens(characters: int, factor: float) -> int:
    """The estimate for so many characters, rounded up once."""
    return math.ceil(characters * factor / CHARACTERS_PER_TOKEN)


def correction(characters: int, reported: int) -> float:
    """The factor at which the estimate of a request would have been what its provider reported.

    Within a quarter and four: beyond that the report is about something else. 1 without a report.
    """
    if characters <= 0 or reported <= 0:
        return 1.0
    return min(4.0, max(0.25, reported * CHARACTERS_PER_TOKEN / characters))


def characters(message: Message) -> int:
    """Code points of what a provider is sent of `message`, its framing left out."""
    match message:
        case UserMessage(text=text, attached=attached, images=images):
            return len(text) + (len(attached) + 2 if attached else 0) + _CHARACTERS_PER_IMAGE * len(images)
        case ToolMessage(content=content):
            return len(content)
        case AssistantMessage(parts=parts):
            return sum(map(_of_part, parts))


def _of_part(part: Text | Thinking | Call) -> int:
    """Reasoning counts only as far as it goes back to its provider."""
    match part:
        case Text(text=text):
            return len(text)
        case Thinking(replay=replay):
            return _of_data(replay)
        case Call(name=name, arguments=arguments, extra=extra):
            return len(name) + len(arguments) + _of_data(extra)


def _of_data(data: dict[str, object]) -> int:
    return len(repr(data)) if data else 0
