"""Stored messages changed by a person: edited, deleted, cleared, with every call keeping its result.

None of it happens while a turn is open, or when the message is not the one that was looked at.
A caller with a lease checks it in the same transaction, see `lease.require`.
"""

import hashlib

import apsw
from msgspec import Struct, structs

from smith_server.core.errors import AgentFailure, failure
from smith_server.core.messages import AssistantMessage, Call, Message, Part, Text, ToolMessage, UserMessage
from smith_server.store import jobs
from smith_server.store.codec import calls_in, decode_message, encode
from smith_server.store.keys import message_id, message_key, turn_id
from smith_server.store.search_index import change_message
from smith_server.store.transaction import transaction

DELETED = "[deleted]"
"""What stands in the place of a result that was deleted alone: its call needs one."""

_ROW = "SELECT n, turn, seq, kind, record FROM message WHERE conversation = ? AND job = '' AND turn = ? AND seq = ?"
_REPLIES = (
    "SELECT seq, record FROM message WHERE conversation = ? AND job = '' AND turn = ? AND kind = 'assistant'"
    " ORDER BY seq"
)
_RESULTS = (
    "DELETE FROM message WHERE conversation = ? AND job = '' AND turn = ? AND kind = 'tool'"
    " AND seq > ? AND seq < ? RETURNING seq"
)
_LAST = (1 << 63) - 1


class _Row(Struct, frozen=True):
    n: int
    turn: int
    seq: int
    kind: str
    record: bytes


def message_hash(message: Message) -> str:
    """What a change is based on: 16 hexadecimal digits, equal for equal messages alone."""
    return hashlib.sha256(encode(message)).hexdigest()[:16]


def edit(connection: apsw.Connection, conversation: str, name: str, text: str, expect: str = "") -> Message:
    """Give a message another text; role, ids, calls and reasoning stay. Returns what is stored then.

    What was attached to a prompt stays. A changed result loses the key under which its full text
    could be had again. `expect` is the `message_hash` of the message that was looked at, "" for any.
    Raises policy/`turn_active`, schema/`not_found`, schema/`empty` for a reply that would have
    neither text nor call, persistence/`changed` or `undecodable`.
    """
    with transaction(connection):
        row = _row(connection, conversation, name, expect)
        message = _with_text(decode_message(row.record), text)
        _store(connection, conversation, row.n, message)
    return message


def delete(connection: apsw.Connection, conversation: str, name: str, expect: str = "") -> tuple[str, ...]:
    """Remove a message; the ids of those that are gone, in order.

    With a reply go the results of its calls, and the children that these calls started. A result
    alone cannot go, as its call stays: it is blanked as `DELETED`, and no id is returned. Usage and
    notes stay. Raises as `edit`; one that cannot be read can be deleted without `expect`.
    """
    with transaction(connection):
        row = _row(connection, conversation, name, expect)
        if row.kind == "tool" and (blank := _blanked(row.record)) is not None:
            _store(connection, conversation, row.n, blank)
            return ()
        gone = _delete_results(connection, conversation, row) if row.kind == "assistant" else []
        connection.execute("DELETE FROM message WHERE n = ?", (row.n,))
    return tuple(message_id(row.turn, seq) for seq in (row.seq, *gone))


def clear(connection: apsw.Connection, conversation: str) -> int:
    """Remove all messages of a conversation and of its children; how many of its own there were.

    Usage, notes and the turns themselves stay, so no turn number is given again. Raises
    policy/`turn_active`.
    """
    with transaction(connection):
        refuse_running(connection, conversation)
        own = "SELECT count(*) FROM message WHERE conversation = ? AND job = ''"
        count = int(connection.execute(own, (conversation,)).get)
        for table in ("message", "piece"):
            connection.execute(f"DELETE FROM {table} WHERE conversation = ?", (conversation,))
        connection.execute("DELETE FROM turn WHERE conversation = ? AND job <> ''", (conversation,))
    return count


def refuse_running(connection: apsw.Connection, conversation: str) -> None:
    """Raise policy/`turn_active` while a turn of the conversation is open, in whatever process."""
    query = "SELECT 1 FROM turn WHERE conversation = ? AND state = 'open'"
    if connection.execute(query, (conversation,)).get is not None:
        raise failure("policy", "turn_active", "A turn of this conversation is running. Cancel it first.")


def _row(connection: apsw.Connection, conversation: str, name: str, expect: str) -> _Row:
    refuse_running(connection, conversation)
    rows = connection.execute(_ROW, (conversation, *message_key(name)))
    row = next((_Row(*found) for found in rows), None)
    if row is None:
        text = f"There is no message {name} in this conversation. Look at its messages again."
        raise failure("schema", "not_found", text, id=name)
    if expect and _hash(row.record) != expect:
        text = f"Message {name} was changed meanwhile. Look at it again, then decide."
        raise failure("persistence", "changed", text, id=name)
    return row


def _hash(record: bytes) -> str:
    """ "" for a record that cannot be read, which nobody can have looked at."""
    try:
        return message_hash(decode_message(record))
    except AgentFailure:
        return ""


def _with_text(message: Message, text: str) -> Message:
    match message:
        case UserMessage():
            return structs.replace(message, text=text)
        case ToolMessage():
            return structs.replace(message, content=text, recall_key="")
        case AssistantMessage():
            return structs.replace(message, parts=_parts_with(message, text))


def _parts_with(message: AssistantMessage, text: str) -> tuple[Part, ...]:
    """The one text stands where the first one stood, else in front of the calls."""
    if not text.strip() and not message.calls:
        raise failure("schema", "empty", "A reply without calls needs a text. Delete the message instead.")
    kept = [part for part in message.parts if not isinstance(part, Text)]
    first = next((at for at, part in enumerate(message.parts) if isinstance(part, Text | Call)), len(kept))
    return (*kept[:first], *([Text(text)] if text else []), *kept[first:])


def _blanked(record: bytes) -> ToolMessage | None:
    try:
        message = decode_message(record)
    except AgentFailure:
        return None
    return (
        structs.replace(message, content=DELETED, recall_key="", diff="") if isinstance(message, ToolMessage) else None
    )


def _store(connection: apsw.Connection, conversation: str, n: int, message: Message) -> None:
    connection.execute("UPDATE message SET record = ? WHERE n = ?", (encode(message), n))
    change_message(connection, n, conversation, message)


def _delete_results(connection: apsw.Connection, conversation: str, row: _Row) -> list[int]:
    """Delete what belongs to the calls of a reply; the numbers of the results."""
    turn = (conversation, row.turn)
    replies = list(connection.execute(_REPLIES, turn))
    following = next((seq for seq, _ in replies if seq > row.seq), _LAST)
    gone = sorted(seq for (seq,) in list(connection.execute(_RESULTS, (*turn, row.seq, following))))
    # Some servers use an id again in a later reply: then nobody can tell whose child it was.
    others = {call for seq, record in replies if seq != row.seq for call in calls_in(record)}
    jobs.drop(connection, conversation, turn_id(row.turn), "", calls_in(row.record) - others)
    return gone
