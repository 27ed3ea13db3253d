"""Tokens that a conversation has used, its children included."""

import apsw

from smith_server.core.messages import Usage

_SUMS = ", ".join(
    f"coalesce(sum({column}), 0)" for column in ("input", "cache_write", "cache_read", "output", "requests")
)


def total(connection: apsw.Connection, conversation: str) -> Usage:
    """Everything that was used in a conversation."""
    rows = connection.execute(f"SELECT {_SUMS} FROM usage WHERE conversation = ?", (conversation,))
    return Usage(*next(iter(rows)))


def by_model(connection: apsw.Connection, conversation: str) -> dict[str, Usage]:
    """The same, apart for each model, in the order of their names."""
    query = f"SELECT model, {_SUMS} FROM usage WHERE conversation = ? GROUP BY model ORDER BY model"
    return {model: Usage(*sums) for model, *sums in connection.execute(query, (conversation,))}
