"""History made valid for the provider it is sent to: a copy is put right, the transcript stays as it is.

What is put right: calls without a result and results without a call, ids that the provider does
not take or that two calls share, empty messages, a beginning that is not the user's, reasoning and
opaque data of somebody else, names that were never a tool's. Followed message by message, so that
nothing is looked at twice.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from smith_server.core.messages import AssistantMessage, Call, Message, Part, Text, Thinking, ToolMessage, UserMessage
from smith_server.llm.assemble import read_arguments
from smith_server.llm.loose_json import mend

IdForm = Literal["any", "word"]

_LONGEST_NAME = 64
_BEGINNING = "[The beginning of this conversation is left out.]"
_EMPTY = "[An empty message.]"
_NO_RESULT = "[No result: this call was interrupted.]"


class Target(Struct, frozen=True):
    """Who is to read a history.

    `issuer` and `model` say what is their own. Of ids, `word` takes letters, digits, `_` and `-`
    only; `longest_id` bounds them (0: any length). `returns` are the reasoning fields that they
    want back (None: whatever they sent). `images`: they take pictures.
    """

    issuer: str
    model: str
    id_form: IdForm = "any"
    longest_id: int = 0
    returns: tuple[str, ...] | None = None
    images: bool = True


class Replay:
    """Follows a transcript and gives, for each message, what is sent in its place.

    `known` are the ids of all calls, as they were and as they are sent. `signed`: every reply of
    the tool loop at the end begins with reasoning of the target's own.
    """

    def __init__(self, target: Target) -> None:
        self.known: set[str] = set()
        self.signed = True
        self._target = target
        self._begun = False
        self._sent: set[str] = set()
        self._open: list[tuple[str, Call]] = []

    def follow(self, message: Message) -> list[Message]:
        """What is sent for the next message."""
        if isinstance(message, ToolMessage):
            return self._result(message)
        closed = self.settled()
        self._open = []
        fit = self._said(message) if isinstance(message, UserMessage) else self._replied(message)
        found = [*closed, *([fit] if fit is not None else [])]
        if found and not self._begun:
            self._begun = True
            if not isinstance(found[0], UserMessage):
                found.insert(0, UserMessage("", _BEGINNING))
        return found

    def settled(self) -> list[Message]:
        """Results for the calls that have none yet."""
        return [ToolMessage("", call.id, call.name, _NO_RESULT, False, "interrupted") for _, call in self._open]

    def _result(self, message: ToolMessage) -> list[Message]:
        """A result goes to the first open call of its id; one that answers nothing is left out."""
        for at, (call_id, call) in enumerate(self._open):
            if call_id == message.call_id:
                del self._open[at]
                return [message if call.id == call_id else replace(message, call_id=call.id)]
        return []

    def _said(self, message: UserMessage) -> UserMessage:
        self.signed = True
        if message.images and not self._target.images:
            kinds = ", ".join(image.media_type for image in message.images)
            left = f"[Left out, since this model takes no images: {kinds}.]"
            message = replace(message, attached="\n\n".join(filter(None, (message.attached, left))), images=())
        if message.images or message.whole.strip():
            return message
        return replace(message, text=_EMPTY, attached="")

    def _replied(self, message: AssistantMessage) -> AssistantMessage | None:
        """A reply with its calls fit to be sent; None when nothing would be left of it."""
        own = message.model == self._target.model
        parts = [fit for at, part in enumerate(message.parts) if (fit := self._part(part, own, f"{message.id}/{at}"))]
        calls = any(isinstance(part, Call) for part in parts)
        if not calls and not message.text.strip():
            return None
        if calls and not isinstance(parts[0], Thinking):
            self.signed = False
        return replace(message, parts=tuple(parts))

    def _part(self, part: Part, own: bool, place: str) -> Part | None:
        match part:
            case Text(text):
                return part if text else None
            case Thinking():
                return self._reasoning(part) if own else None
            case Call():
                return self._call(part, own, place)

    def _reasoning(self, part: Thinking) -> Thinking | None:
        """Reasoning as its provider wants it back, if this is the one."""
        if part.provider != self._target.issuer or not part.replay:
            return None
        returns = self._target.returns
        if returns is None or all(name in returns for name in part.replay):
            return part
        wanted = {name: value for name, value in part.replay.items() if name in returns}
        return replace(part, replay=wanted) if wanted else None

    def _call(self, call: Call, own: bool, place: str) -> Call:
        sent_id = self._id(call.id, place)
        self.known.update((call.id, sent_id))
        self._sent.add(sent_id)
        text, fitness = read_arguments(call.arguments)
        extra: dict[str, Any] = call.extra if own and call.extra.get("issuer") == self._target.issuer else {}
        fit = Call(sent_id, legal_name(call.name), mend(text) if fitness == "object" else "{}", extra)
        self._open.append((call.id, fit))
        return fit

    def _id(self, call_id: str, place: str) -> str:
        """The id if it can be sent and no call has it, else one that is always the same for this call."""
        fit = call_id if self._fits(call_id) else _made_id(call_id or place)
        while fit in self._sent:
            fit = _made_id(f"{fit}/{place}")
        return fit

    def _fits(self, call_id: str) -> bool:
        longest = self._target.longest_id
        if not call_id or (longest and len(call_id) > longest):
            return False
        return self._target.id_form == "any" or re.fullmatch(r"[A-Za-z0-9_-]+", call_id) is not None


def replayed(messages: Iterable[Message], target: Target) -> tuple[Message, ...]:
    """The whole of a history as it is sent to `target`."""
    replay = Replay(target)
    sent = [fit for message in messages for fit in replay.follow(message)]
    return (*sent, *replay.settled())


def legal_name(name: str) -> str:
    """A name that was never a tool's may hold anything; servers take letters, digits, `_` and `-` only."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST_NAME] or "unknown"


def _made_id(seed: str) -> str:
    return "call_" + hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=12).hexdigest()
