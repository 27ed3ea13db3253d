"""One writer per conversation: who it is, that there is no second one, and how another takes over."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentFailure, failure
from smith_server.store.holder import Holder, is_living
from smith_server.store.keys import new_id
from smith_server.store.transaction import transaction

STALE_SECONDS = 120.0
"""Without a heartbeat for so long a holder on another machine counts as gone. Clocks differ: not too short."""

_RUNNING = "SELECT 1 FROM turn WHERE conversation = ? AND state = 'open' AND host = ? AND pid = ? AND start = ?"


class Lease(Struct, frozen=True):
    """The right to write a conversation. `face` is what its holder looks like to a person.

    `beat` is when the holder last said that it lives, in seconds since 1970.
    """

    conversation: str
    holder: Holder
    face: str
    token: str
    taken: float
    beat: float = 0.0


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
            raise _held(
                found,
                f"/load {conversation[:8]} shows it here, read-only; /take-over goes on with it, /fork in a copy.",
            )
        return _give(connection, conversation, holder, face, now)


def take_over(
    connection: apsw.Connection, conversation: str, holder: Holder, face: str, *, now: float | None = None
) -> Lease:
    """Take the lease from whoever has it, unless a turn of theirs runs.

    That turn does not count when its process is dead, or is one of another machine without a
    heartbeat for `STALE_SECONDS`. The old holder learns of it with its next write. Raises
    persistence/`held`.
    """
    moment = time.time() if now is None else now
    with transaction(connection):
        found = held(connection, conversation)
        if found is not None and found.holder == holder:
            return found
        if found is not None and not _is_stale(found, holder, moment) and _is_running(connection, found):
            raise _held(found, "A turn runs there: wait until it has ended, or /fork the conversation.")
        return _give(connection, conversation, holder, face, moment)


def held(connection: apsw.Connection, conversation: str) -> Lease | None:
    """The lease that a living process has of a conversation, or None."""
    lease = _stored(connection, conversation)
    return lease if lease is not None and is_living(lease.holder) else None


def beat(connection: apsw.Connection, leases: Iterable[Lease], *, now: float | None = None) -> tuple[Lease, ...]:
    """Say that their holder lives; those of `leases` that somebody else has by now."""
    moment = time.time() if now is None else now
    lost = []
    with transaction(connection):
        for lease in leases:
            row = (moment, lease.conversation, lease.token)
            connection.execute("UPDATE lease SET beat = ? WHERE conversation = ? AND token = ?", row)
            if not connection.changes():
                lost.append(lease)
    return tuple(lost)


def require(connection: apsw.Connection, tokens: Mapping[str, str]) -> None:
    """Make sure that conversations (id → token) are still held under these tokens.

    Called inside the transaction of a write, it makes the two one. Raises persistence/`lease_lost`
    for the first that is not.
    """
    for conversation, token in tokens.items():
        found = _stored(connection, conversation)
        if found is None or found.token != token:
            raise _lost(conversation, found)


def release(connection: apsw.Connection, lease: Lease) -> None:
    """Give it back; nothing happens when somebody else has it by now."""
    with transaction(connection):
        connection.execute("DELETE FROM lease WHERE conversation = ? AND token = ?", (lease.conversation, lease.token))


def _stored(connection: apsw.Connection, conversation: str) -> Lease | None:
    query = "SELECT host, pid, start, face, token, taken, beat FROM lease WHERE conversation = ?"
    for host, pid, start, *rest in connection.execute(query, (conversation,)):
        return Lease(conversation, Holder(host, pid, start), *rest)
    return None


def _give(connection: apsw.Connection, conversation: str, holder: Holder, face: str, now: float | None) -> Lease:
    moment = time.time() if now is None else now
    lease = Lease(conversation, holder, face, new_id(), moment, moment)
    connection.execute(
        "INSERT OR REPLACE INTO lease (conversation, host, pid, start, face, token, taken, beat)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
        (conversation, holder.host, holder.pid, holder.start, face, lease.token, moment),
    )
    return lease


def _is_stale(lease: Lease, asking: Holder, now: float) -> bool:
    return lease.holder.host != asking.host and now - lease.beat > STALE_SECONDS


def _is_running(connection: apsw.Connection, lease: Lease) -> bool:
    holder = lease.holder
    row = (lease.conversation, holder.host, holder.pid, holder.start)
    return connection.execute(_RUNNING, row).get is not None


def _held(lease: Lease, advice: str) -> AgentFailure:
    text = f"Conversation {lease.conversation[:8]} is open in {named(lease)}. {advice}"
    return failure("persistence", "held", text, **facts(lease))


def _lost(conversation: str, lease: Lease | None) -> AgentFailure:
    known: dict[str, Any] = {"conversation": conversation} if lease is None else facts(lease)
    where = "is not open here any more" if lease is None else f"was taken over by {named(lease)}"
    text = f"This conversation {where}. /take-over goes on with it here, /fork in a copy."
    return failure("persistence", "lease_lost", text, **known)


def named(lease: Lease) -> str:
    """Who has it, for a person."""
    return f"{lease.face or 'smith'} (process {lease.holder.pid} on {lease.holder.host})"


def facts(lease: Lease) -> dict[str, Any]:
    """Who has it, as data; `taken` is in seconds since 1970."""
    return {
        "conversation": lease.conversation,
        "host": lease.holder.host,
        "pid": lease.holder.pid,
        "start": lease.holder.start,
        "face": lease.face,
        "taken": lease.taken,
    }
