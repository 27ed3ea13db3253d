"""Bring a store to the newest schema: named steps, in order, all of them or none."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
from msgspec import Struct

from smith_server.core.late import late
from smith_server.store.transaction import transaction

APPLICATION_ID = 0x536D5374
"""Stands in the header of the file and says that it is a store of this program."""

_RECORDS = "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied REAL NOT NULL) WITHOUT ROWID"


class Step(Struct, frozen=True):
    """One change of the schema; `then` is done when all steps are in, in the same transaction."""

    name: str
    sql: str
    then: Callable[[apsw.Connection], object] | None = None


def known_steps() -> tuple[Step, ...]:
    """The steps of this version of the program; their number is the schema version."""
    files = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    then = {"0002_search_and_notes": late("smith_server.store.search:rebuild_message_search_index")}
    return tuple(Step(file.stem, file.read_text("utf-8"), then.get(file.stem)) for file in files)


def version_of(connection: apsw.Connection) -> int:
    """The schema version of a store; 0 for an empty file."""
    return int(connection.pragma("user_version"))


def migrate(connection: apsw.Connection, steps: Sequence[Step], file: Path | None = None) -> tuple[str, ...]:
    """Run the steps that are missing, in one transaction; their names.

    An older store at `file` is copied to `FILE.before-NAME` first; the copy goes when the steps
    are in and stays when one fails. Raises `apsw.Error`, with the store as it was.
    """
    version = version_of(connection)
    if version >= len(steps):
        return ()
    with transaction(connection, full_sync=version > 0):
        version = version_of(connection)
        missing = steps[version:]
        copy = _copied(file, missing[0]) if file is not None and version else None
        for step in missing:
            _run(connection, step)
        for step in missing:
            if step.then is not None:
                step.then(connection)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", len(steps))
    if copy is not None:
        copy.unlink(missing_ok=True)
    return tuple(step.name for step in missing)


def _run(connection: apsw.Connection, step: Step) -> None:
    for _ in connection.execute(step.sql):
        pass
    connection.execute(_RECORDS)
    connection.execute("INSERT INTO migration VALUES (?, ?)", (step.name, time.time()))


def _copied(file: Path, step: Step) -> Path:
    """A copy of the whole store, what waits in its write-ahead log included."""
    copy = file.with_name(f"{file.name}.before-{step.name}")
    copy.unlink(missing_ok=True)
    # A connection of its own: one that is inside a write transaction cannot be the source.
    source, target = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY), apsw.Connection(str(copy))
    with source, target, target.backup("main", source, "main") as backup:
        backup.step()
    target.close()
    source.close()
    return copy
