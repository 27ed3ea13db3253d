"""What conversations have used and what it cost, their children included. It stays when messages go."""

import apsw
from msgspec import Struct

from smith_server.core.messages import Usage
from smith_server.store.codec import text_in, text_out
from smith_server.store.keys import turn_id, turn_key

_COLUMNS = ("input", "cache_write", "cache_read", "output", "requests", "cost", "unpriced")
_SUMS = ", ".join(f"coalesce(sum({column}), 0)" for column in _COLUMNS)


class TailUsage(Struct, frozen=True):
    """What one turn has used itself (`tail` "parent"), or one child in it (`tail` its job id)."""

    turn: str
    tail: str
    role: str
    model: str
    usage: Usage


class DayUsage(Struct, frozen=True):
    """What one model has used on one day (`2026-01-31`, by the clock here) in one place."""

    day: str
    root: str
    project_id: str | None
    model: str
    usage: Usage


def total(connection: apsw.Connection, conversation: str) -> Usage:
    """Everything that was used in a conversation."""
    rows = connection.execute(f"SELECT {_SUMS} FROM usage WHERE conversation = ?", (conversation,))
    return Usage(*next(iter(rows)))


def by_role(connection: apsw.Connection, conversation: str) -> dict[str, Usage]:
    """The same, apart for each role of a child; the conversation's own turns are "parent"."""
    query = (
        f"SELECT iif(tail = 'parent', 'parent', role) AS who, {_SUMS} FROM usage WHERE conversation = ?"
        " GROUP BY who ORDER BY who"
    )
    return {who: Usage(*sums) for who, *sums in connection.execute(query, (conversation,))}


def by_tail(connection: apsw.Connection, conversation: str, turn: str | None = None) -> tuple[TailUsage, ...]:
    """The same for each turn and each child, or for those of one turn, by turn."""
    rows = connection.execute(
        f"SELECT turn, tail, role, model, {', '.join(_COLUMNS)} FROM usage"
        " WHERE conversation = ?1 AND (?2 IS NULL OR turn = ?2) ORDER BY turn, tail <> 'parent', tail",
        (conversation, None if turn is None else turn_key(turn)),
    )
    return tuple(
        TailUsage(turn_id(number), tail, role, model, Usage(*sums)) for number, tail, role, model, *sums in rows
    )


def by_day(
    connection: apsw.Connection, *, since: float = 0.0, root: str | None = None, project: str | None = None
) -> tuple[DayUsage, ...]:
    """What was used since a time (seconds since 1970), apart for days, places and models, oldest first.

    `root` and `project` narrow it to conversations begun there, or of that project id. What was
    used in deleted conversations is not in it.
    """
    rows = connection.execute(
        "SELECT date(usage.created, 'unixepoch', 'localtime') AS day, root, project_id, usage.model,"
        f" {_SUMS} FROM usage JOIN conversation ON id = conversation WHERE usage.created >= ?1"
        " AND (?2 IS NULL OR root = ?2) AND (?3 IS NULL OR project_id = ?3)"
        " GROUP BY day, root, project_id, usage.model ORDER BY day, root, project_id, usage.model",
        (since, None if root is None else text_in(root), project),
    )
    return tuple(
        DayUsage(day, text_out(place), project_id, model, Usage(*sums)) for day, place, project_id, model, *sums in rows
    )
