"""One writer per conversation: who it is, and that there is no second one."""

import time

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentFailure, failure
from smith_server.store.holder import Holder, is_living
from smith_server.store.keys import new_id
from smith_server.store.transaction import transaction


class Lease(Struct, frozen=True):
    """The right to write a conversation. `face` is what its holder looks like to a person."""

    conversation: str
    holder: Holder
    face: str
    token: str
    taken: float


def take(
    connection: apsw.Connection, conversation: str, holder: Holder, face: str, *, now: float | None = None
) -> Lease:
    """Take the lease, which is free when nobody has it or a dead process of this machine does.

    A process that has it already gets it again, with the token that it has. Raises
    persistence/`held`, with the facts of the holder as data, when a living process has it.
    """
    with transaction(connection):
        found = held(connection, conversation)
        if found is not None and found.holder == holder:
            return found
        if found is not None:
            raise _held(found)
        lease = Lease(conversation, holder, face, new_id(), time.time() if now is None else now)
        connection.execute(
            "INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?, ?, ?)",
            (conversation, holder.host, holder.pid, holder.start, face, lease.token, lease.taken),
        )
    return lease


def held(connection: apsw.Connection, conversation: str) -> Lease | None:
    """The lease that a living process has of a conversation, or None."""
    query = "SELECT host, pid, start, face, token, taken FROM lease WHERE conversation = ?"
    for host, pid, start, face, token, taken in connection.execute(query, (conversation,)):
        lease = Lease(conversation, Holder(host, pid, start), face, token, taken)
        return lease if is_living(lease.holder) else None
    return None


def release(connection: apsw.Connection, lease: Lease) -> None:
    """Give it back; nothing happens when somebody else has it by now."""
    with transaction(connection):
        connection.execute("DELETE FROM lease WHERE conversation = ? AND token = ?", (lease.conversation, lease.token))


def _held(lease: Lease) -> AgentFailure:
    holder = lease.holder
    text = (
        f"This conversation is open in {lease.face or 'smith'} (process {holder.pid} on {holder.host}). "
        "Close it there, or go on in a new one."
    )
    return failure(
        "persistence",
        "held",
        text,
        conversation=lease.conversation,
        host=holder.host,
        pid=holder.pid,
        start=holder.start,
        face=lease.face,
        taken=lease.taken,
    )
