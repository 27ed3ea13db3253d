"""A conversation begun as a copy of another one, which may be in somebody else's hands."""

import time

import apsw
from msgspec import structs

from smith_server.core.errors import AgentFailure, failure
from smith_server.store import compaction, conversations, jobs
from smith_server.store.codec import calls_in, decode_message
from smith_server.store.conversations import Header
from smith_server.store.keys import message_key, prefix_end, turn_id
from smith_server.store.notes import SCRATCHPAD, TURN_RECORD
from smith_server.store.search_index import add_message
from smith_server.store.transaction import transaction

_TURNS = (
    "INSERT INTO turn (conversation, job, turn, state, host, pid, start, prompt, model, provider, started, ended,"
    " record, parent, call, role, depth, place) SELECT ?1, job, turn, iif(state = 'open', 'interrupted', state), host,"
    " pid, start, prompt, model, provider, started, coalesce(ended, ?4), record, parent, call, role, depth, place"
    " FROM turn WHERE conversation = ?2 AND turn <= ?3"
)
_MESSAGES = (
    "SELECT job, turn, seq, kind, record, created FROM message WHERE conversation = ? AND turn <= ?"
    " AND (job <> '' OR (turn, seq) <= (?, ?)) ORDER BY n"
)
_NOTES = (
    "INSERT INTO note SELECT ?1, id, text, created, updated FROM note WHERE conversation = ?2 AND (id >= ?3 AND id < ?4"
    " OR id IN (SELECT ?5 || printf('t%06d', turn) FROM turn WHERE conversation = ?1 AND job = ''))"
)
_KIND = "SELECT kind FROM message WHERE conversation = ? AND job = '' AND turn = ? AND seq = ?"
_LAST_RESULT = (
    "SELECT max(seq) FROM message WHERE conversation = ?1 AND job = '' AND turn = ?2 AND kind = 'tool' AND seq > ?3"
    " AND seq < coalesce((SELECT min(seq) FROM message WHERE conversation = ?1 AND job = '' AND turn = ?2"
    " AND kind <> 'tool' AND seq > ?3), 1 << 62)"
)
_REPLIES = "SELECT seq, record FROM message WHERE conversation = ? AND job = '' AND turn = ? AND kind = 'assistant'"
_END = 1 << 62


def fork(
    connection: apsw.Connection, source: str, new: str, upto: str | None = None, *, now: float | None = None
) -> Header:
    """Store the conversation `new` as a copy of `source`, up to the message `upto` or whole.

    With a reply or one of its results come all results of that reply. The children and the
    scratchpad come too, usage and waiting prompts do not. A turn that runs in `source` ends in the
    copy as interrupted. Raises schema/`not_found`, persistence/`invalid_key`.
    """
    moment = time.time() if now is None else now
    with transaction(connection):
        header = conversations.get(connection, source)
        if header is None:
            raise failure("schema", "not_found", f"There is no conversation {source!r}. /history lists them.")
        turn, seq = _end(connection, source, upto)
        conversations.create(connection, structs.replace(header, id=new), now=moment)
        connection.execute(_TURNS, (new, source, turn, moment))
        _copy_messages(connection, source, new, (turn, seq))
        _drop_later_children(connection, source, new, (turn, seq))
        compaction.copy(connection, source, new, (turn, seq))
        connection.execute(_NOTES, (new, source, SCRATCHPAD, prefix_end(SCRATCHPAD), TURN_RECORD))
        made = conversations.get(connection, new)
    assert made is not None
    return made


def _end(connection: apsw.Connection, source: str, upto: str | None) -> tuple[int, int]:
    """The last message to copy, as (turn, seq)."""
    if upto is None:
        return _END, _END
    turn, seq = message_key(upto)
    kind = connection.execute(_KIND, (source, turn, seq)).get
    if kind is None:
        raise failure("schema", "not_found", f"There is no message {upto} in this conversation.", id=upto)
    last = None if kind == "user" else connection.execute(_LAST_RESULT, (source, turn, seq)).get
    return turn, seq if last is None else int(last)


def _copy_messages(connection: apsw.Connection, source: str, new: str, end: tuple[int, int]) -> None:
    count = 0
    for job, *row in list(connection.execute(_MESSAGES, (source, end[0], *end))):
        connection.execute(
            "INSERT INTO message (conversation, job, turn, seq, kind, record, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (new, job, *row),
        )
        count += not job
        try:
            message = decode_message(row[3])
        except AgentFailure:
            continue
        add_message(connection, connection.last_insert_rowid(), new, message)
    connection.execute("UPDATE conversation SET message_count = ? WHERE id = ?", (count, new))


def _drop_later_children(connection: apsw.Connection, source: str, new: str, end: tuple[int, int]) -> None:
    """Children that were started behind the end of the copy, in its last turn.

    One whose call has the id of an earlier call stays: nobody can tell whose it was.
    """
    early: set[str] = set()
    late: set[str] = set()
    for seq, record in connection.execute(_REPLIES, (source, end[0])):
        (late if seq > end[1] else early).update(calls_in(record))
    if late - early:
        jobs.drop(connection, new, turn_id(end[0]), "", late - early)
