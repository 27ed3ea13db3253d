"""The children of a conversation: which there were, who sent them, and how they ended.

A child's rows carry the number of the turn that it worked for.
"""

from collections.abc import Collection
from typing import Any

import apsw
from msgspec import Struct

from smith_server.store.codec import text_out
from smith_server.store.keys import turn_id, turn_key
from smith_server.store.writes import TurnState

_JOBS = (
    "SELECT job, turn, parent, call, role, depth, state, prompt, model, started, ended FROM turn"
    " WHERE conversation = ? AND turn BETWEEN ? AND ? AND job <> '' ORDER BY turn, place"
)
_WITH_DESCENDANTS = (
    "WITH RECURSIVE gone(job) AS (SELECT job FROM turn WHERE conversation = ?1 AND turn = ?2 AND job = ?3"
    " UNION SELECT turn.job FROM turn, gone WHERE conversation = ?1 AND turn = ?2 AND parent = gone.job)"
    " SELECT job FROM gone"
)
_LAST = (1 << 63) - 1


class Job(Struct, frozen=True):
    """A child: the call that started it, in the conversation or in the child `parent`, and its task.

    `depth` is 1 for a child of the conversation itself. `ended` is None while it runs.
    """

    id: str
    turn: str
    parent: str
    call: str
    role: str
    depth: int
    state: TurnState
    task: str
    model: str
    started: float
    ended: float | None


def listed(connection: apsw.Connection, conversation: str, turn: str | None = None) -> tuple[Job, ...]:
    """The children of a conversation, or of one of its turns, in the order in which they began."""
    first, last = (0, _LAST) if turn is None else (turn_key(turn), turn_key(turn))
    return tuple(map(_job, connection.execute(_JOBS, (conversation, first, last))))


def drop(connection: apsw.Connection, conversation: str, turn: str, parent: str, calls: Collection[str]) -> None:
    """Remove the children that these calls of `parent` started, and theirs, with all that they said.

    What they used stays. To be called inside a transaction.
    """
    number = turn_key(turn)
    started = [job.id for job in listed(connection, conversation, turn) if job.parent == parent and job.call in calls]
    gone = [row for job in started for row in connection.execute(_WITH_DESCENDANTS, (conversation, number, job))]
    for table in ("message", "piece", "turn"):
        connection.executemany(
            f"DELETE FROM {table} WHERE conversation = ? AND job = ?", [(conversation, name) for (name,) in gone]
        )


def _job(row: tuple[Any, ...]) -> Job:
    name, turn, parent, call, role, depth, state, task, *rest = row
    return Job(name, turn_id(turn), parent, call, role, depth, state, text_out(task), *rest)
