"""Looking on while another process writes a conversation: cheap to ask many times a second."""

from typing import Literal

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentFailure
from smith_server.store.codec import decode_message
from smith_server.store.pages import Said


class Cursor(Struct, frozen=True):
    """How far a conversation was read, by this process.

    `seen` changes with every commit, `edition` with what was changed or removed, `n` with what was added.
    """

    seen: tuple[int, int]
    edition: int
    n: int


class Changes(Struct, frozen=True):
    """What happened since a cursor, and the cursor to ask with next.

    `grown` brings `messages`; after `rewritten` (edited, removed, cleared) all has to be read again;
    `gone` means that the conversation was deleted. `is_running` tells whether a turn is open.
    """

    cursor: Cursor
    state: Literal["same", "grown", "rewritten", "gone"] = "same"
    messages: tuple[Said, ...] = ()
    is_running: bool = False


def cursor(connection: apsw.Connection, conversation: str) -> Cursor:
    """Where to begin. To be taken before the messages are loaded: what comes in between is told twice."""
    seen = _seen(connection)
    n = connection.execute("SELECT coalesce(max(n), 0) FROM message WHERE conversation = ?", (conversation,)).get
    return Cursor(seen, _edition(connection, conversation) or 0, int(n))


def changes_since(connection: apsw.Connection, conversation: str, last: Cursor) -> Changes:
    """What happened to a conversation since `last`. A message that cannot be read is left out."""
    running = "SELECT 1 FROM turn WHERE conversation = ? AND job = '' AND state = 'open'"
    is_running = connection.execute(running, (conversation,)).get is not None
    seen = _seen(connection)
    if seen == last.seen:
        return Changes(last, is_running=is_running)
    edition = _edition(connection, conversation)
    if edition is None:
        return Changes(Cursor(seen, 0, 0), "gone")
    if edition != last.edition:
        return Changes(cursor(connection, conversation), "rewritten", is_running=is_running)
    n, messages = _added(connection, conversation, last.n)
    return Changes(Cursor(seen, edition, n), "grown" if n > last.n else "same", messages, is_running)


def _added(connection: apsw.Connection, conversation: str, n: int) -> tuple[int, tuple[Said, ...]]:
    # The sign keeps the index of the conversation out of it: the newest rows of all are few.
    query = "SELECT n, job, record FROM message WHERE +conversation = ? AND n > ? ORDER BY n"
    messages = []
    for number, job, record in connection.execute(query, (conversation, n)):
        n = number
        try:
            messages.append(Said(decode_message(record), job))
        except AgentFailure:
            continue
    return n, tuple(messages)


def _edition(connection: apsw.Connection, conversation: str) -> int | None:
    found = connection.execute("SELECT edition FROM conversation WHERE id = ?", (conversation,)).get
    return None if found is None else int(found)


def _seen(connection: apsw.Connection) -> tuple[int, int]:
    """The first number changes with commits of other processes, the second with writes of this one."""
    return int(connection.pragma("data_version")), connection.total_changes()
