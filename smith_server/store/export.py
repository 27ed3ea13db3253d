"""A conversation as records that fit lines of JSON, for people and other programs."""

from collections.abc import Iterator
from typing import Any

import apsw
import msgspec

from smith_server.core.errors import AgentFailure, failure
from smith_server.store import conversations, jobs, usage
from smith_server.store.codec import decode_message, text_out
from smith_server.store.keys import joined_key, turn_id

_MESSAGES = (
    "SELECT job, turn, seq, record, created FROM message WHERE conversation = ? ORDER BY job <> '', job, turn, seq"
)
_TURNS = (
    "SELECT turn, state, prompt, model, provider, started, ended FROM turn WHERE conversation = ? AND job = ''"
    " ORDER BY turn"
)


def export(connection: apsw.Connection, conversation: str) -> Iterator[dict[str, Any]]:
    """Everything that is stored of a conversation: `{kind, key, record}`, the header first.

    Kinds are `conversation`, `turn`, `message` (the conversation's own, then those of children,
    which have a `job`), `job`, `note` and `usage`; a message that cannot be read is an `unreadable`.
    To be read where the connection lives. `codec.encode_json` makes a line of a record. Raises
    schema/`not_found`.
    """
    header = conversations.get(connection, conversation)
    if header is None:
        raise failure("schema", "not_found", f"There is no conversation {conversation!r}. /history lists them.")
    yield _item("conversation", header, conversation)
    for number, state, prompt, model, provider, started, ended in connection.execute(_TURNS, (conversation,)):
        told = {"state": state, "prompt": text_out(prompt), "model": model, "provider": provider}
        yield _item("turn", {**told, "started": started, "ended": ended}, conversation, turn_id(number))
    for row in connection.execute(_MESSAGES, (conversation,)):
        yield _message(conversation, row)
    for job in jobs.listed(connection, conversation):
        yield _item("job", job, conversation, job.turn, job.id)
    for name, text, updated in connection.execute(
        "SELECT id, text, updated FROM note WHERE conversation = ? ORDER BY id", (conversation,)
    ):
        yield _item("note", {"text": text_out(text), "updated": updated}, conversation, tail=name)
    for used in usage.by_tail(connection, conversation):
        yield _item("usage", used, conversation, used.turn, used.tail)


def _message(conversation: str, row: tuple[Any, ...]) -> dict[str, Any]:
    job, turn, seq, record, created = row
    key = (conversation, turn_id(turn), f"{seq:04d}")
    try:
        item = _item("message", decode_message(record), *key)
    except AgentFailure as problem:
        item = _item("unreadable", {"message": problem.error.message}, *key)
    return {**item, "created": created, **({"job": job} if job else {})}


def _item(kind: str, record: Any, *segments: str, tail: str = "") -> dict[str, Any]:
    return {"kind": kind, "key": joined_key(*segments, tail=tail), "record": msgspec.to_builtins(record)}
