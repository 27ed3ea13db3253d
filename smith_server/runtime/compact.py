"""A model is asked to sum up the oldest part of a conversation: a request of its own, without tools."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from msgspec import Struct, structs

from smith_server.context.prompt import role_text
from smith_server.core.account import Meter
from smith_server.core.cancel import CancelToken
from smith_server.core.compaction import is_summary
from smith_server.core.errors import Cancelled
from smith_server.core.interrupt import interrupted_by
from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Message,
    Text,
    ToolMessage,
    Usage,
    UserMessage,
    joined_text,
)
from smith_server.core.ports import Done, Failed, Provider, Request

PROFILE = "summary"
_ASK = "Sum up this conversation:\n\n<conversation>\n{}\n</conversation>"
_MOST_OF_A_MESSAGE = 8000


class Said(Struct, frozen=True):
    """A summary, "" when there is none, and what it used."""

    text: str
    usage: Usage


Summarize = Callable[[Sequence[Message], int], Awaitable[Said]]
"""Sums up messages in a request of at most so many characters. Raises `Cancelled` alone."""


class Summarizer:
    """Asks the model of a turn. `frame` is a request of it, `token` ends the wait, `meter` counts what it costs."""

    def __init__(self, provider: Provider, frame: Request, token: CancelToken, meter: Meter) -> None:
        self._provider = provider
        self._frame = frame
        self._token = token
        self._meter = meter

    async def __call__(self, messages: Sequence[Message], room: int) -> Said:
        """See `Summarize`. Whatever goes wrong makes a summary without words."""
        system = role_text(PROFILE)
        text = _ASK.format(told(messages, room - len(system) - len(_ASK)))
        asked = structs.replace(self._frame, system=system, messages=(UserMessage(PROFILE, text),), tools=())
        end: Done | Failed = Failed(Cancelled().error)
        async with interrupted_by(self._token):
            async for delta in self._provider.stream(asked, self._token):
                if isinstance(delta, Done | Failed):
                    end = delta
        usage = self._meter.charge(end)
        if isinstance(end, Done):
            return Said(joined_text(end.parts).strip(), usage)
        if self._token.requested:
            raise Cancelled
        return Said("", usage)


def told(messages: Sequence[Message], room: int) -> str:
    """Messages as a text of at most `room` characters: the longest are cut in the middle, the oldest left out."""
    blocks = list(_blocks(messages))
    most = _MOST_OF_A_MESSAGE
    while most > 100 and sum(min(len(block), most) + 2 for block in blocks) > room:
        most //= 2
    kept: list[str] = []
    for block in reversed([_cut(block, most) for block in blocks]):
        room -= len(block) + 2
        if room < 0:
            break
        kept.append(block)
    return "\n\n".join(reversed(kept))


def _blocks(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        match message:
            case UserMessage():
                yield message.whole if is_summary(message) else f"[person] {message.whole}"
            case ToolMessage(name=name, content=content, ok=ok):
                yield f"[output of {name}{'' if ok else ', which failed'}] {content}"
            case AssistantMessage(parts=parts):
                yield from (f"[agent] {part.text}" for part in parts if isinstance(part, Text))
                yield from (f"[agent calls {part.name}] {part.arguments}" for part in parts if isinstance(part, Call))


def _cut(block: str, most: int) -> str:
    mark = " […] "
    if len(block) <= most:
        return block
    half = (most - len(mark)) // 2
    return f"{block[: most - len(mark) - half]}{mark}{block[len(block) - half :]}"
