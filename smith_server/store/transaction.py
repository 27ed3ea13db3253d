"""The one way to write: all or nothing, with the write lock taken at the start."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


@contextmanager
def transaction(connection: apsw.Connection, full_sync: bool = False) -> Iterator[None]:
    """Commit what is done inside, or none of it when something is raised.

    With `full_sync` the commit survives a loss of power, without it only the death of the process.
    Inside another transaction it joins that one, which then decides about `full_sync`.
    """
    if connection.in_transaction:
        yield
        return
    # The level cannot be changed once a transaction runs.
    if full_sync:
        connection.execute("PRAGMA synchronous=FULL")
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    finally:
        if full_sync:
            connection.execute("PRAGMA synchronous=NORMAL")
