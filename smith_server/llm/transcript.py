"""Conversations as they were sent, so that each message is put right and encoded once.

A conversation is a row of turns: what the user's side says between two replies, and the replies.
What is new in a request is added to what was sent before; nothing else of it is looked at.
"""

from collections.abc import Callable, Collection, Sequence
from operator import is_
from typing import Protocol

from smith_server.core.messages import AssistantMessage, Message
from smith_server.core.ports import Request
from smith_server.llm.replay import Replay, Target

_CONVERSATIONS = 8
"""So many are kept encoded, those that were used last."""

MARK = b',"cache_control":{"type":"ephemeral"}'
"""Asks the provider to keep everything up to the block that this is put into."""

_BLOCK_END = len(b"}]}")


class Shape(Protocol):
    """How one dialect writes messages."""

    def item(self, message: Message) -> bytes:
        """A message that was put right: one JSON object, or several with commas between them."""
        ...

    def turn(self, items: bytes, *, user: bool) -> bytes:
        """The items of a turn, with commas between them, as they stand among the messages."""
        ...


class _Sent:
    """One conversation: the messages that were looked at, and the turns that they became."""

    def __init__(self, target: Target, shape: Shape) -> None:
        self.messages: tuple[Message, ...] = ()
        self.replay = Replay(target)
        self._shape = shape
        self._turns: list[bytes] = []
        self._users: list[int] = []
        self._items: list[bytes] = []
        self._user = True

    def begins(self, messages: tuple[Message, ...]) -> bool:
        """Whether `messages` are these very objects, and perhaps more."""
        return len(self.messages) <= len(messages) and all(map(is_, self.messages, messages))

    def follow(self, messages: tuple[Message, ...]) -> None:
        """Take in what is new."""
        for message in messages[len(self.messages) :]:
            for fit in self.replay.follow(message):
                self._add(fit)
        self.messages = messages

    def turns(self, *, marked: bool) -> list[bytes]:
        """All turns; `marked` asks to keep everything up to the user's last turn but one."""
        closing = [self._shape.item(message) for message in self.replay.settled()]
        last = [self._turn(self._items)] if self._items else []
        if closing and not self._user:
            last.append(self._shape.turn(b",".join(closing), user=True))
        elif closing:
            last = [self._turn(self._items + closing)]
        turns = [*self._turns, *last]
        users = [*self._users, *([len(turns) - 1] if self._user or closing else [])]
        if marked and len(users) >= 2:
            turn = turns[users[-2]]
            turns[users[-2]] = turn[:-_BLOCK_END] + MARK + turn[-_BLOCK_END:]
        return turns

    def _add(self, message: Message) -> None:
        user = not isinstance(message, AssistantMessage)
        if self._items and user != self._user:
            if self._user:
                self._users.append(len(self._turns))
            self._turns.append(self._turn(self._items))
            self._items = []
        self._user = user
        self._items.append(self._shape.item(message))

    def _turn(self, items: Sequence[bytes]) -> bytes:
        return self._shape.turn(b",".join(items), user=self._user)


class Transcripts:
    """The conversations of one provider. `target` and `shape` follow from the first request of each."""

    def __init__(self, target: Callable[[Request], Target], shape: Callable[[Request], Shape]) -> None:
        self._target = target
        self._shape = shape
        self._sent: dict[tuple[int, str], _Sent] = {}

    def turns(self, request: Request, *, marked: bool = False) -> list[bytes]:
        """The messages of a request, encoded; see `_Sent.turns`."""
        if not request.messages:
            return []
        key = _key(request)
        sent = self._sent.pop(key, None)
        if sent is None or not sent.begins(request.messages):
            sent = _Sent(self._target(request), self._shape(request))
        sent.follow(request.messages)
        self._sent[key] = sent
        if len(self._sent) > _CONVERSATIONS:
            del self._sent[next(iter(self._sent))]
        return sent.turns(marked=marked)

    def call_ids(self, request: Request) -> Collection[str]:
        """The ids of all calls in a request whose turns were made just before."""
        return self._sent[_key(request)].replay.known if request.messages else ()

    def is_signed(self, request: Request) -> bool:
        """Whether the replies of its last tool loop begin with reasoning of the target's own."""
        return not request.messages or self._sent[_key(request)].replay.signed


def _key(request: Request) -> tuple[int, str]:
    """A conversation by its first message; what is encoded holds for one model only."""
    return id(request.messages[0]), request.model
