"""What is remembered of a project, for all its conversations and checkouts."""

import time

import apsw
from msgspec import Struct

from smith_server.store.codec import text_in, text_out
from smith_server.store.keys import checked, opaque
from smith_server.store.label import label_of
from smith_server.store.search_index import change_memory
from smith_server.store.transaction import transaction


class Memory(Struct, frozen=True):
    """One memory in a list; `label` is its first line in short."""

    id: str
    label: str


def listed(connection: apsw.Connection, project: str) -> tuple[Memory, ...]:
    """The memories of a project, by id."""
    rows = connection.execute("SELECT id, text FROM memory WHERE project = ? ORDER BY id", (text_in(project),))
    return tuple(Memory(name, label_of(text_out(text))) for name, text in rows)


def get(connection: apsw.Connection, project: str, name: str) -> str | None:
    """The text of a memory, or None."""
    query = "SELECT text FROM memory WHERE project = ? AND id = ?"
    found = connection.execute(query, (text_in(project), text_in(name))).get
    return None if found is None else text_out(found)


def upsert(connection: apsw.Connection, project: str, name: str, text: str, *, now: float | None = None) -> bool:
    """Write a memory, over the one that was there. True when it is new. Raises persistence/`invalid_key`."""
    moment = time.time() if now is None else now
    row = (checked(project), opaque(name), text_in(text), moment)
    with transaction(connection):
        known = connection.execute("SELECT n FROM memory WHERE project = ? AND id = ?", row[:2]).get
        n = connection.execute(
            "INSERT INTO memory (project, id, text, created, updated) VALUES (?1, ?2, ?3, ?4, ?4)"
            " ON CONFLICT DO UPDATE SET text = excluded.text, updated = excluded.updated RETURNING n",
            row,
        ).get
        change_memory(connection, n, name, text)
    return known is None


def delete(connection: apsw.Connection, project: str, name: str) -> bool:
    """Forget a memory. False when there was none."""
    with transaction(connection):
        row = (text_in(project), text_in(name))
        connection.execute("DELETE FROM memory WHERE project = ? AND id = ?", row)
        return connection.changes() > 0
