"""Notes of a conversation: its scratchpad, and what became of its turns.

The id of a note is opaque: it may hold colons, and no letter in it is a wildcard.
"""

import time

import apsw
from msgspec import Struct

from smith_server.store.codec import text_in, text_out
from smith_server.store.keys import checked, opaque, prefix_end, turn_id, turn_key
from smith_server.store.label import label_of
from smith_server.store.transaction import transaction

SCRATCHPAD = "scratchpad:"
TURN_RECORD = "turn_record-"

_LOOKED_AT = 2000
"""Characters of a note that are read for its preview."""


class NotePreview(Struct, frozen=True):
    """A note without its text: its first line in short, its length in bytes, when it was last written."""

    id: str
    label: str
    size: int
    updated: float


def scratchpad_id(key: str) -> str:
    """The note that a scratchpad key names. Raises persistence/`invalid_key` for an empty one."""
    return SCRATCHPAD + opaque(key)


def turn_record_id(turn: str) -> str:
    """The note that holds the record of a turn. Raises persistence/`invalid_key`."""
    return TURN_RECORD + turn_id(turn_key(turn))


def put(connection: apsw.Connection, conversation: str, name: str, text: str, *, now: float | None = None) -> None:
    """Write the note `name`, over the one that was there. Raises persistence/`invalid_key`."""
    moment = time.time() if now is None else now
    with transaction(connection):
        connection.execute(
            "INSERT INTO note VALUES (?1, ?2, ?3, ?4, ?4)"
            " ON CONFLICT DO UPDATE SET text = excluded.text, updated = excluded.updated",
            (checked(conversation), opaque(name), text_in(text), moment),
        )


def get(connection: apsw.Connection, conversation: str, name: str) -> str | None:
    """The text of a note, or None."""
    query = "SELECT text FROM note WHERE conversation = ? AND id = ?"
    found = connection.execute(query, (text_in(conversation), text_in(name))).get
    return None if found is None else text_out(found)


def listed(connection: apsw.Connection, conversation: str, prefix: str = "") -> tuple[NotePreview, ...]:
    """The notes whose id begins with `prefix`, by id. Raises persistence/`invalid_key`."""
    rows = connection.execute(
        "SELECT id, substr(text, 1, ?), octet_length(text), updated FROM note"
        " WHERE conversation = ? AND id >= ? AND id < ? ORDER BY id",
        (_LOOKED_AT, text_in(conversation), prefix, prefix_end(prefix)),
    )
    return tuple(NotePreview(name, label_of(_beginning(text)), size, updated) for name, text, size, updated in rows)


def delete(connection: apsw.Connection, conversation: str, name: str) -> bool:
    """Remove a note. False when there was none."""
    with transaction(connection):
        row = (text_in(conversation), text_in(name))
        connection.execute("DELETE FROM note WHERE conversation = ? AND id = ?", row)
        return connection.changes() > 0


def _beginning(text: str | bytes) -> str:
    """Bytes may have been cut inside of a character."""
    return text if isinstance(text, str) else text.decode("utf-8", "replace")
