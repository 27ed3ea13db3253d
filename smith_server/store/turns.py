"""The rows of turns, written as things happen: a batch of writes is one commit.

Each write costs the same however long the conversation is.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import apsw
from msgspec import Struct

from smith_server.core.errors import failure
from smith_server.store import compaction, lease, notes
from smith_server.store.codec import decode, decode_json, encode, encode_json, kind_of, text_in, text_out
from smith_server.store.keys import checked, message_key, turn_key
from smith_server.store.search_index import add_message, change_message
from smith_server.store.transaction import transaction
from smith_server.store.writes import (
    AddCompaction,
    AddMessage,
    AddPiece,
    CloseTurn,
    DropPieces,
    DropPrompt,
    EditPrompt,
    OpenTurn,
    QueuePrompt,
    SetUsage,
    TurnState,
    Write,
)

_OPEN_TURN = (
    "INSERT INTO turn (conversation, job, turn, state, host, pid, start, prompt, model, provider, started,"
    " parent, call, role, depth, place) SELECT ?1, ?2, ?3, 'open', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
    " coalesce(max(place), 0) + 1 FROM turn WHERE conversation = ?1 AND turn = ?3 AND job <> ''"
    " ON CONFLICT DO UPDATE SET prompt = excluded.prompt WHERE state = 'open'"
    " AND host = excluded.host AND pid = excluded.pid AND start = excluded.start"
)


class TurnRow(Struct, frozen=True):
    """A stored turn. Times are seconds since 1970; `ended` is None while it runs."""

    turn: str
    state: TurnState
    prompt: str
    model: str
    provider: str
    started: float
    ended: float | None
    record: dict[str, Any]


class WaitingPrompt(Struct, frozen=True):
    """A prompt that no turn has taken up."""

    id: str
    text: str
    record: dict[str, Any]


def apply(
    connection: apsw.Connection,
    writes: Iterable[Write],
    *,
    full_sync: bool = False,
    now: float | None = None,
    tokens: Mapping[str, str] | None = None,
) -> None:
    """Store all of `writes`, in order, in one commit, or none of them.

    `full_sync` makes the commit survive a loss of power. `tokens` are those of the leases (conversation
    → token): what is written to these conversations has to be written under them. Raises
    persistence/`lease_lost`, `invalid_key`, `invalid_record`, `turn_taken`, or `apsw.Error`.
    """
    moment = time.time() if now is None else now
    batch = list(writes)
    with transaction(connection, full_sync):
        if tokens:
            lease.require(connection, {name: tokens[name] for name in {w.conversation for w in batch} & tokens.keys()})
        for write in batch:
            _store(connection, write, moment)


def get(connection: apsw.Connection, conversation: str, turn: str, job: str = "") -> TurnRow | None:
    """One turn, or None. Raises persistence/`undecodable` when its record cannot be read."""
    row = connection.execute(
        "SELECT state, prompt, model, provider, started, ended, record FROM turn"
        " WHERE conversation = ? AND job = ? AND turn = ?",
        (conversation, job, turn_key(turn)),
    ).get
    if row is None:
        return None
    state, prompt, model, provider, started, ended, record = row
    loaded = _loaded(record) if record is not None or job else _noted(connection, conversation, turn)
    return TurnRow(turn, state, text_out(prompt), model, provider, started, ended, loaded)


def next_turn(connection: apsw.Connection, conversation: str) -> int:
    """The number that the next turn of a conversation gets: never one that was used."""
    known = (
        "SELECT max(coalesce((SELECT max(turn) FROM turn WHERE conversation = ?1 AND job = ''), 0),"
        " coalesce((SELECT max(turn) FROM message WHERE conversation = ?1 AND job = ''), 0))"
    )
    return int(connection.execute(known, (conversation,)).get) + 1


def waiting(connection: apsw.Connection, conversation: str) -> tuple[WaitingPrompt, ...]:
    """The prompts that wait, oldest first."""
    rows = connection.execute("SELECT id, text, record FROM prompt WHERE conversation = ? ORDER BY n", (conversation,))
    return tuple(WaitingPrompt(name, text_out(text), _loaded(record)) for name, text, record in rows)


def _store(connection: apsw.Connection, write: Write, now: float) -> None:
    match write:
        case AddPiece():
            _add_piece(connection, write)
        case AddMessage():
            _add_message(connection, write, now)
        case AddCompaction():
            compaction.add(connection, write.conversation, write.record, now=now)
        case OpenTurn():
            _open_turn(connection, write, now)
        case CloseTurn():
            _close_turn(connection, write, now)
        case SetUsage():
            _set_usage(connection, write, now)
        case QueuePrompt() | EditPrompt() | DropPrompt():
            _change_line(connection, write, now)
        case DropPieces():
            drop_pieces(connection, write.conversation, write.job, message_key(write.message))
        case _:
            assert_never(write)


def _add_piece(connection: apsw.Connection, write: AddPiece) -> None:
    turn, seq = message_key(write.message)
    connection.execute(
        "INSERT INTO piece SELECT ?1, ?2, ?3, ?4, coalesce(max(n), 0) + 1, ?5, ?6 FROM piece"
        " WHERE conversation = ?1 AND job = ?2 AND turn = ?3 AND seq = ?4",
        (write.conversation, write.job, turn, seq, write.kind, text_in(write.text)),
    )


def drop_pieces(connection: apsw.Connection, conversation: str, job: str, key: tuple[int, int]) -> None:
    """Forget what was streamed of one message, given as (turn, seq)."""
    connection.execute(
        "DELETE FROM piece WHERE conversation = ? AND job = ? AND turn = ? AND seq = ?", (conversation, job, *key)
    )


def _add_message(connection: apsw.Connection, write: AddMessage, now: float) -> None:
    message, key = write.message, message_key(write.message.id)
    record = encode(message)
    drop_pieces(connection, write.conversation, write.job, key)
    connection.execute(
        "INSERT OR IGNORE INTO message (conversation, job, turn, seq, kind, record, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (write.conversation, write.job, *key, kind_of(message), record, now),
    )
    if not connection.changes():
        _replace_message(connection, write, record)
        return
    n = connection.last_insert_rowid()
    if not write.job:
        connection.execute(
            "UPDATE conversation SET message_count = message_count + 1, updated = ? WHERE id = ?",
            (now, write.conversation),
        )
    add_message(connection, n, write.conversation, message)


def _replace_message(connection: apsw.Connection, write: AddMessage, record: bytes) -> None:
    n = connection.execute(
        "UPDATE message SET kind = ?1, record = ?2 WHERE conversation = ?3 AND job = ?4 AND turn = ?5 AND seq = ?6"
        " AND record IS NOT ?2 RETURNING n",
        (kind_of(write.message), record, write.conversation, write.job, *message_key(write.message.id)),
    ).get
    if n is not None:
        change_message(connection, n, write.conversation, write.message)


def _open_turn(connection: apsw.Connection, write: OpenTurn, now: float) -> None:
    holder, turn = write.holder, turn_key(write.turn)
    if write.job:
        checked(write.job)
    connection.execute(
        _OPEN_TURN,
        (
            *(write.conversation, write.job, turn),
            *(holder.host, holder.pid, holder.start),
            *(text_in(write.prompt), write.model, write.provider, now),
            *(write.parent, write.call, write.role, max(write.depth, 1) if write.job else 0),
        ),
    )
    if not connection.changes():
        text = f"Turn {write.turn} was stored by another process. Open the conversation again to see it."
        raise failure("persistence", "turn_taken", text)
    connection.execute(
        "UPDATE conversation SET updated = ?, used = (SELECT max(used) FROM conversation) + 1 WHERE id = ?",
        (now, write.conversation),
    )


def _close_turn(connection: apsw.Connection, write: CloseTurn, now: float) -> None:
    key = (write.conversation, write.job, turn_key(write.turn))
    connection.execute("DELETE FROM piece WHERE conversation = ? AND job = ? AND turn = ?", key)
    connection.execute(
        "UPDATE turn SET state = ?, ended = ?, record = ? WHERE conversation = ? AND job = ? AND turn = ?",
        (write.state, now, _dumped(write.record) if write.job else None, *key),
    )
    if write.record and not write.job:
        text = encode_json(write.record)
        notes.put(connection, write.conversation, notes.turn_record_id(write.turn), text, now=now)


def _set_usage(connection: apsw.Connection, write: SetUsage, now: float) -> None:
    used = write.usage
    connection.execute(
        "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(write.conversation, turn_key(write.turn), checked(write.tail), write.role, write.model),
            *(used.input, used.cache_write, used.cache_read, used.output, used.requests, now, used.cost, used.unpriced),
        ),
    )


def _change_line(connection: apsw.Connection, write: QueuePrompt | EditPrompt | DropPrompt, now: float) -> None:
    match write:
        case QueuePrompt(name, id, text, record):
            connection.execute(
                "INSERT OR IGNORE INTO prompt SELECT ?1, ?2, coalesce(max(n), 0) + 1, ?3, ?4, ?5 FROM prompt"
                " WHERE conversation = ?1",
                (name, id, text_in(text), _dumped(record), now),
            )
        case EditPrompt(name, id, text):
            row = (text_in(text), name, id)
            connection.execute("UPDATE prompt SET text = ? WHERE conversation = ? AND id = ?", row)
        case DropPrompt(name, id):
            connection.execute("DELETE FROM prompt WHERE conversation = ? AND id = ?", (name, id))


def _dumped(record: dict[str, Any]) -> bytes | None:
    return encode(record) if record else None


def _loaded(data: bytes | None) -> dict[str, Any]:
    return {} if data is None else decode(data, dict[str, Any])


def _noted(connection: apsw.Connection, conversation: str, turn: str) -> dict[str, Any]:
    text = notes.get(connection, conversation, notes.turn_record_id(turn))
    return {} if text is None else decode_json(text)
