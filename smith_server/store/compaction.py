"""What was left out of the requests of conversations, so that a later process sends the same."""

import time

import apsw

from smith_server.core.compaction import Compaction
from smith_server.core.errors import AgentFailure
from smith_server.store.codec import decode, encode
from smith_server.store.keys import message_key
from smith_server.store.transaction import transaction


def add(connection: apsw.Connection, conversation: str, record: Compaction, *, now: float | None = None) -> None:
    """Store one more. Raises persistence/`invalid_record`, or `invalid_key` when it follows no message."""
    moment = time.time() if now is None else now
    row = (conversation, *message_key(record.upto), encode(record), moment)
    with transaction(connection):
        connection.execute(
            "INSERT INTO compaction (conversation, turn, seq, record, created) VALUES (?, ?, ?, ?, ?)", row
        )


def load(connection: apsw.Connection, conversation: str) -> tuple[Compaction, ...]:
    """All of a conversation, oldest first. From one that cannot be read on there are none: it is made again."""
    rows = connection.execute("SELECT record FROM compaction WHERE conversation = ? ORDER BY n", (conversation,))
    found: list[Compaction] = []
    for (record,) in rows:
        try:
            found.append(decode(record, Compaction))
        except AgentFailure:
            break
    return tuple(found)


def copy(connection: apsw.Connection, source: str, new: str, upto: tuple[int, int]) -> None:
    """Give `new`, a copy of `source` up to a message (turn, seq), what holds for it."""
    with transaction(connection):
        connection.execute(
            "INSERT INTO compaction (conversation, turn, seq, record, created) SELECT ?, turn, seq, record, created"
            " FROM compaction WHERE conversation = ? AND (turn, seq) <= (?, ?) ORDER BY n",
            (new, source, *upto),
        )
