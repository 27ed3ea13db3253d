"""A part of a conversation as it was said: its own messages and those of its children, as they were stored."""

from collections.abc import Iterable, Mapping

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import Message, Usage
from smith_server.store import jobs, turns, usage
from smith_server.store.codec import decode_message
from smith_server.store.jobs import Job
from smith_server.store.keys import message_id, message_key, turn_id
from smith_server.store.turns import TurnRow

_START = (
    "SELECT turn FROM message WHERE conversation = ? AND job = '' AND (turn, seq) < (?, ?)"
    " ORDER BY turn DESC, seq DESC LIMIT 1 OFFSET ?"
)
_SAID = (
    "SELECT n, job, record FROM message WHERE conversation = ?1 AND turn >= ?2 AND turn <= ?3"
    " AND iif(job = '', (turn, seq) < (?3, ?4), turn < ?3 OR ?5) ORDER BY turn, n"
)
_FIRST = "SELECT seq FROM message WHERE conversation = ? AND job = '' AND turn = ? ORDER BY seq LIMIT 1"
_EARLIER = "SELECT 1 FROM message WHERE conversation = ? AND job = '' AND turn < ? LIMIT 1"
_LAST = (1 << 62, 0)


class Said(Struct, frozen=True):
    """A stored message, and the child whose it is; `n` grows with each that is stored, whosever it is."""

    message: Message
    job: str = ""
    n: int = 0


class TurnFacts(Struct, frozen=True):
    """What is known of one turn: how it ended, its children in the order in which they began, what each used."""

    row: TurnRow | None = None
    jobs: tuple[Job, ...] = ()
    usage: Mapping[str, Usage] = {}


class Page(Struct, frozen=True):
    """What was said, what is known of its turns, and `before` for the page before it, "" when this is the first."""

    said: tuple[Said, ...] = ()
    turns: Mapping[str, TurnFacts] = {}
    before: str = ""


def page(connection: apsw.Connection, conversation: str, *, limit: int, before: str = "") -> Page:
    """The last `limit` messages in front of the message id `before`, or of all ("").

    It begins with the first message of a turn, so it may hold more. Children count nothing, and come with the turn
    that they worked for. A message that cannot be read is left out. Raises persistence/`invalid_key`.
    """
    end = message_key(before) if before else _LAST
    first = connection.execute(_START, (conversation, *end, max(1, limit) - 1)).get
    begins = connection.execute(_FIRST, (conversation, end[0])).get
    # Children of the turn that `before` belongs to come with its beginning.
    rows = connection.execute(_SAID, (conversation, first or 0, *end, begins is not None and begins < end[1]))
    said = tuple(_readable(rows))
    numbers = sorted({message_key(each.message.id)[0] for each in said})
    return Page(
        said,
        {turn_id(number): facts(connection, conversation, turn_id(number)) for number in numbers},
        "" if first is None else _before(connection, conversation, first),
    )


def facts(connection: apsw.Connection, conversation: str, turn: str) -> TurnFacts:
    """What is known of a turn."""
    try:
        row = turns.get(connection, conversation, turn)
    except AgentFailure:
        row = None
    used = {each.tail: each.usage for each in usage.by_tail(connection, conversation, turn)}
    return TurnFacts(row, jobs.listed(connection, conversation, turn), used)


def _before(connection: apsw.Connection, conversation: str, turn: int) -> str:
    if connection.execute(_EARLIER, (conversation, turn)).get is None:
        return ""
    return message_id(turn, int(connection.execute(_FIRST, (conversation, turn)).get))


def _readable(rows: Iterable[tuple[int, str, bytes]]) -> Iterable[Said]:
    for n, job, record in rows:
        try:
            yield Said(decode_message(record), job, n)
        except AgentFailure:
            continue
