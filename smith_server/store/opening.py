"""From a path to a connection that can be worked with, whatever is found there.

What cannot be written is replaced by a store in memory, what is damaged or somebody else's is put
aside; both are told as warnings. What is newer or locked is an error, and the file stays as it is.
"""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentError, AgentFailure, agent_error, failure
from smith_server.store.damage import Damaged, Header, check, put_aside, read_header
from smith_server.store.failures import is_damage, typed, typed_os
from smith_server.store.folder_lock import folder_lock
from smith_server.store.migrate import APPLICATION_ID, Step, known_steps, migrate, version_of
from smith_server.store.network import on_network

_UNWRITABLE = ("read_only", "unavailable", "full")


class Place(Struct, frozen=True):
    """Where a store lies and how to open it. `path` None is a store in memory.

    `busy_ms` bounds the wait for another process; `steps` is the schema; `is_remote` says whether
    a folder lies on another machine.
    """

    path: Path | None
    busy_ms: int = 5000
    steps: tuple[Step, ...] = ()
    is_remote: Callable[[Path], bool] = on_network


class Opened(Struct, frozen=True):
    """A working connection; `path` is None when it works in memory."""

    connection: apsw.Connection
    path: Path | None
    warnings: tuple[AgentError, ...] = ()


def open_store(place: Place) -> Opened:
    """Open or make the store. Raises persistence/`newer` or `locked`."""
    place = Place(place.path, place.busy_ms, place.steps or known_steps(), place.is_remote)
    if place.path is None:
        return _in_memory(place)
    try:
        return _open_file(place.path, place)
    except apsw.Error as problem:
        failed = typed(problem, str(place.path))
    except OSError as problem:
        failed = typed_os(problem, str(place.path))
    if failed.error.code not in _UNWRITABLE:
        raise failed
    return _in_memory(place, failed.error)


def _in_memory(place: Place, why: AgentError | None = None) -> Opened:
    connection = apsw.Connection(":memory:")
    _prepare(connection, place)
    migrate(connection, place.steps)
    if why is None:
        return Opened(connection, None)
    text = f"{why.message} Conversations of this run are kept in memory only and end with it."
    warning = agent_error("persistence", why.code, text, cause=why.cause, file=str(place.path))
    return Opened(connection, None, (warning,))


def _open_file(named: Path, place: Place) -> Opened:
    # SQLite names what lies beside a store after the file itself, not after a link to it.
    path = named.resolve() if named.is_symlink() else named.absolute()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folder_lock(path.parent, place.busy_ms / 1000):
        try:
            return Opened(_connected(path, place), path)
        except Damaged as problem:
            why = str(problem)
        except apsw.Error as problem:
            if not is_damage(problem):
                raise
            why = str(problem)
        aside = put_aside(path)
        text = f"The store {path} is damaged or not of smith ({why}). It was renamed to {aside}; a new one was begun."
        warning = agent_error("persistence", "corrupt", text, file=str(path), aside=str(aside))
        return Opened(_connected(path, place), path, (warning,))


def _connected(path: Path, place: Place) -> apsw.Connection:
    header = _header(path)
    if header is not None:
        _refuse_newer(header.application, header.version, path, place)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    # Until the store is accepted, closing must not write into it.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        _accept(connection, header, path, place)
    except (apsw.Error, AgentFailure, Damaged, OSError):
        connection.close()
        raise
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    return connection


def _header(path: Path) -> Header | None:
    """The header of the file, which is made if missing: only its owner can read what is said in it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise apsw.ReadOnlyError(f"no permission to write {path}")
    return read_header(path)


def _accept(connection: apsw.Connection, header: Header | None, path: Path, place: Place) -> None:
    """Make the connection ready, or say why the file cannot be used."""
    is_remote = place.is_remote(path.parent)
    if header is not None and header.is_wal and is_remote:
        _leave_wal(connection, place)
    _prepare(connection, place)
    application, version = int(connection.pragma("application_id")), version_of(connection)
    # A version that came with the log does not stand in the file yet.
    _refuse_newer(application, version, path, place)
    if connection.readonly("main"):
        raise apsw.ReadOnlyError(f"{path} opens for reading only")
    if application != APPLICATION_ID and not _is_empty(connection):
        raise Damaged("another program's database")
    if header is not None:
        check(connection, path)
    if header is None and not is_remote:
        connection.pragma("journal_mode", "wal")
    migrate(connection, place.steps, path)


def _prepare(connection: apsw.Connection, place: Place) -> None:
    connection.set_busy_timeout(place.busy_ms)
    connection.execute("PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON")


def _leave_wal(connection: apsw.Connection, place: Place) -> None:
    """The log needs memory shared by all processes, which no network file system gives.

    Nothing may be read before the lock is exclusive, or the shared memory is made after all.
    """
    connection.set_busy_timeout(place.busy_ms)
    connection.pragma("locking_mode", "exclusive")
    connection.pragma("journal_mode", "delete")
    connection.pragma("locking_mode", "normal")


def _is_empty(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema").get is None


def _refuse_newer(application: int, version: int, path: Path, place: Place) -> None:
    known = len(place.steps)
    if application not in (0, APPLICATION_ID) or version <= known:
        return
    text = (
        f"{path} was written by a newer smith (schema {version}, this one knows {known}). It was left as it is. "
        "Update smith, or set SMITH_HOME to another folder."
    )
    raise failure("persistence", "newer", text, file=str(path), found=version, known=known)
