"""Conversations: their headers, the pointer to the one to go on with, and their messages."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentError, AgentFailure, failure
from smith_server.core.messages import Message
from smith_server.store.codec import decode_message, text_in, text_out
from smith_server.store.keys import checked, message_id, message_key, prefix_end
from smith_server.store.pairing import Lost, paired
from smith_server.store.search_index import change_message
from smith_server.store.transaction import transaction

_HEADER = "id, root, title, created, updated, used, message_count, project_id, model, role, mode, provider"
_IN_ORDER = "SELECT turn, seq, kind, record FROM message WHERE conversation = ? AND job = ? ORDER BY turn, seq"
_FROM_THE_END = (
    "SELECT turn, seq, kind, record FROM message WHERE conversation = ? AND job = ?"
    " AND (turn, seq) < (?, ?) ORDER BY turn DESC, seq DESC LIMIT ?"
)
_LAST = 1 << 62
_SHOWN = 8


class Header(Struct, frozen=True):
    """A conversation without its messages.

    Times are seconds since 1970, for people; `used` grows with each use of any conversation and
    is what "newest" means. `message_count` leaves out messages of children. `provider` is the one that
    `model` was chosen for.
    """

    id: str
    root: str
    title: str = ""
    created: float = 0.0
    updated: float = 0.0
    used: int = 0
    message_count: int = 0
    project_id: str | None = None
    model: str | None = None
    role: str | None = None
    mode: str | None = None
    provider: str | None = None


class Transcript(Struct, frozen=True):
    """Messages in order, and an error of code `undecodable` for each row that could not be read."""

    messages: tuple[Message, ...]
    problems: tuple[AgentError, ...] = ()


def create(connection: apsw.Connection, header: Header, *, now: float | None = None) -> Header:
    """Store a new conversation; times, `used` and count of `header` are set here. Returns what is stored."""
    moment = time.time() if now is None else now
    with transaction(connection):
        connection.execute(
            "INSERT INTO conversation"
            " (id, root, title, created, updated, used, project_id, model, role, mode, provider)"
            " SELECT ?1, ?2, ?3, ?4, ?4, coalesce(max(used), 0) + 1, ?5, ?6, ?7, ?8, ?9 FROM conversation",
            (
                *(checked(header.id), text_in(header.root), text_in(header.title), moment),
                *(header.project_id, header.model, header.role, header.mode, header.provider),
            ),
        )
        used = int(connection.execute("SELECT used FROM conversation WHERE id = ?", (header.id,)).get)
    return Header(
        *(header.id, header.root, header.title, moment, moment, used, 0),
        *(header.project_id, header.model, header.role, header.mode, header.provider),
    )


def get(connection: apsw.Connection, conversation: str) -> Header | None:
    """The header of a conversation, or None when there is no such one."""
    rows = connection.execute(f"SELECT {_HEADER} FROM conversation WHERE id = ?", (text_in(conversation),))
    return next(map(_header, rows), None)


def listed(
    connection: apsw.Connection,
    root: str | None = None,
    *,
    project: str | None = None,
    limit: int = 50,
    before: int | None = None,
) -> tuple[Header, ...]:
    """The conversations of a root, of a project id in whatever root, or of all, last used first.

    For the next page give the `used` of the last one as `before`.
    """
    column, place = ("root", root) if root is not None else ("project_id", project)
    where, bound = ("", ()) if place is None else (f"{column} = ? AND", (text_in(place),))
    rows = connection.execute(
        f"SELECT {_HEADER} FROM conversation WHERE {where} used < ? ORDER BY used DESC LIMIT ?",
        (*bound, _LAST if before is None else before, limit),
    )
    return tuple(map(_header, rows))


def find(connection: apsw.Connection, beginning: str, root: str | None = None) -> Header:
    """The one conversation, of a root or of all, whose id is `beginning` or alone begins so.

    Raises schema/`not_found`, or `ambiguous`, which lists some of them, with their `ids` as data.
    """
    range_of_ids = (text_in(beginning), prefix_end(beginning))
    where, place = ("", ()) if root is None else ("AND root = ?", (text_in(root),))
    rows = connection.execute(
        f"SELECT {_HEADER} FROM conversation WHERE id >= ? AND id < ? {where} ORDER BY id LIMIT 10",
        (*range_of_ids, *place),
    )
    found = tuple(map(_header, rows))
    if not found:
        raise failure("schema", "not_found", f"There is no conversation {beginning!r}. /history lists them.")
    if len(found) > 1 and found[0].id != beginning:
        names = [header.id for header in found]
        alike = [f"  {header.id[: _apart(names)]}  {header.title or '(empty)'}" for header in found]
        text = "\n".join([f"{beginning!r} fits several conversations. Give more of the id:", *alike])
        raise failure("schema", "ambiguous", text, ids=names)
    return found[0]


def _apart(ids: Sequence[str]) -> int:
    """So many characters tell these ids apart; at least as many as lists of conversations show."""
    most = max(map(len, ids))
    return next((count for count in range(_SHOWN, most) if len({each[:count] for each in ids}) == len(ids)), most)


def touch(connection: apsw.Connection, conversation: str, *, now: float | None = None) -> None:
    """Make it the last used one."""
    with transaction(connection):
        connection.execute(
            "UPDATE conversation SET updated = ?, used = (SELECT max(used) FROM conversation) + 1 WHERE id = ?",
            (time.time() if now is None else now, conversation),
        )


def set_title(connection: apsw.Connection, conversation: str, title: str) -> None:
    """Give it a title; its place in the list stays."""
    with transaction(connection):
        connection.execute("UPDATE conversation SET title = ? WHERE id = ?", (text_in(title), conversation))


def set_model(connection: apsw.Connection, conversation: str, model: str | None, provider: str | None = None) -> None:
    """Remember the model that was chosen for it, and of which provider, or with None that none was."""
    with transaction(connection):
        connection.execute(
            "UPDATE conversation SET model = ?, provider = ? WHERE id = ?", (model, provider, conversation)
        )


def set_role(connection: apsw.Connection, conversation: str, role: str | None) -> None:
    """Remember the role that was chosen for it, or with None that none was."""
    with transaction(connection):
        connection.execute("UPDATE conversation SET role = ? WHERE id = ?", (role, conversation))


def set_mode(connection: apsw.Connection, conversation: str, mode: str | None) -> None:
    """Remember the mode that it is in, or with None that it is in none."""
    with transaction(connection):
        connection.execute("UPDATE conversation SET mode = ? WHERE id = ?", (mode, conversation))


def move(connection: apsw.Connection, conversation: str, root: str, project_id: str | None) -> None:
    """Let it belong to another place from now on; it is listed and found there."""
    with transaction(connection):
        connection.execute(
            "UPDATE conversation SET root = ?, project_id = ? WHERE id = ?", (text_in(root), project_id, conversation)
        )
        rows = list(connection.execute("SELECT n, record FROM message WHERE conversation = ?", (conversation,)))
        for n, record in rows:
            with suppress(AgentFailure):
                change_message(connection, n, conversation, decode_message(record))


def delete(connection: apsw.Connection, conversation: str) -> bool:
    """Remove it with everything that belongs to it. False when there was none."""
    with transaction(connection):
        connection.execute("DELETE FROM pointer WHERE conversation = ?", (conversation,))
        connection.execute("DELETE FROM conversation WHERE id = ?", (conversation,))
        return connection.changes() > 0


def pointer(connection: apsw.Connection, root: str) -> str | None:
    """The id of the conversation to go on with in a root; "" is the place outside any project."""
    found = connection.execute("SELECT conversation FROM pointer WHERE root = ?", (text_in(root),)).get
    return None if found is None else str(found)


def point(connection: apsw.Connection, root: str, conversation: str | None) -> None:
    """Set that pointer, or clear it with None. The conversation need not be stored yet."""
    with transaction(connection):
        if conversation is None:
            connection.execute("DELETE FROM pointer WHERE root = ?", (text_in(root),))
        else:
            row = (text_in(root), checked(conversation))
            connection.execute("INSERT OR REPLACE INTO pointer VALUES (?, ?)", row)


def unpoint(connection: apsw.Connection, conversation: str) -> None:
    """Clear every pointer to a conversation."""
    with transaction(connection):
        connection.execute("DELETE FROM pointer WHERE conversation = ?", (conversation,))


def count(connection: apsw.Connection, conversation: str, job: str = "") -> int:
    """How many messages are stored of a conversation, or of a child in it."""
    query = "SELECT count(*) FROM message WHERE conversation = ? AND job = ?"
    return int(connection.execute(query, (conversation, job)).get)


def load(connection: apsw.Connection, conversation: str, job: str = "") -> Transcript:
    """All messages, oldest first, fit to go on with: every call has one result.

    Only while a turn is open may the calls of the last reply wait for theirs.
    """
    items, problems = _read(connection.execute(_IN_ORDER, (conversation, job)))
    is_running = connection.execute(
        "SELECT 1 FROM turn WHERE conversation = ? AND job = ? AND state = 'open'", (conversation, job)
    ).get
    return Transcript(tuple(paired(items, is_running=is_running is not None)), problems)


def page(
    connection: apsw.Connection, conversation: str, *, limit: int, before: str | None = None, job: str = ""
) -> Transcript:
    """The last `limit` messages in front of the message id `before`, or of all, oldest first.

    As they are stored: a page may begin with results whose calls are on the page before it.
    """
    bound = (_LAST, 0) if before is None else message_key(before)
    rows = connection.execute(_FROM_THE_END, (conversation, job, *bound, limit))
    items, problems = _read(reversed(list(rows)))
    return Transcript(tuple(item for item in items if not isinstance(item, Lost)), problems)


def _read(rows: Iterable[tuple[int, int, str, bytes]]) -> tuple[list[Message | Lost], tuple[AgentError, ...]]:
    items: list[Message | Lost] = []
    problems: list[AgentError] = []
    for turn, seq, kind, record in rows:
        try:
            items.append(decode_message(record))
        except AgentFailure as problem:
            items.append(Lost(message_id(turn, seq), kind))
            problems.append(problem.error)
    return items, tuple(problems)


def _header(row: tuple[Any, ...]) -> Header:
    name, root, title, *rest = row
    return Header(name, text_out(root), text_out(title), *rest)
