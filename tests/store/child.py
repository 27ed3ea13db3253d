"""What another process does to a store: run as `python -m tests.store.child DOING PATH ...`.

Each says on stdout how far it came and is told on stdin to go on.
"""

import asyncio
import fcntl
import os
import resource
import sys
import time
from pathlib import Path

import apsw

from smith_server.store import conversations, lease, memory, turns
from smith_server.store.db import Database
from smith_server.store.holder import this_process
from smith_server.store.migrate import Step, known_steps
from smith_server.store.opening import Place, open_store
from tests.store.builders import batches_of_turn, started


def say(text: object) -> None:
    print(text, flush=True)


def write_turns(path: Path, count: str, talk: str = "talk") -> None:
    """Turn after turn, a line after each commit."""
    connection = open_store(Place(path)).connection
    started(connection, talk)
    say("ready")
    sys.stdin.readline()
    done = 0
    for number in range(1, int(count) + 1):
        for batch in batches_of_turn(number, this_process(), talk):
            turns.apply(connection, batch, now=1.0)
            say(done := done + 1)


def write_and_remember(path: Path, count: str, talk: str) -> None:
    """Turn after turn under a lease, a memory with each."""
    connection = open_store(Place(path)).connection
    started(connection, talk)
    mine = lease.take(connection, talk, this_process(), talk)
    say("ready")
    sys.stdin.readline()
    for number in range(1, int(count) + 1):
        for batch in batches_of_turn(number, this_process(), talk):
            turns.apply(connection, batch, tokens={talk: mine.token})
        memory.upsert(connection, "p1", f"{talk}:{number}", f"What {talk} learned in turn {number}")
    say("done")


def hold_writing(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE")
    say("ready")
    sys.stdin.readline()
    connection.execute("ROLLBACK")


def hold_file(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("locking_mode", "exclusive")
    connection.execute("BEGIN IMMEDIATE; COMMIT")
    say("ready")
    sys.stdin.readline()


def hold_folder(path: Path) -> None:
    handle = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    say("ready")
    sys.stdin.readline()


def hold_lease(path: Path) -> None:
    connection = open_store(Place(path)).connection
    lease.take(connection, "talk", this_process(), "Neovim")
    say(os.getpid())
    sys.stdin.readline()


def hold_turn(path: Path) -> None:
    connection = open_store(Place(path)).connection
    lease.take(connection, "talk", this_process(), "Emacs")
    turns.apply(connection, batches_of_turn(1, this_process())[0])
    say("ready")
    sys.stdin.readline()


def migrate_slowly(path: Path) -> None:
    table = "CREATE TABLE many (a, b)"
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 400000)"
    many = Step("9999_many", f"{table}; INSERT INTO many {numbers} SELECT i, i FROM n")
    open_store(Place(path, steps=(*known_steps(), many)))


def open_only(path: Path) -> None:
    open_store(Place(path))


def leave_work(path: Path) -> None:
    """Come to the end with the store open and its thread busy."""

    async def work() -> None:
        database = await Database.open(path)
        busy = asyncio.ensure_future(database.call(lambda _: time.sleep(60)))
        await asyncio.wait([busy], timeout=0.05)
        busy.cancel()

    asyncio.run(work())
    say("ended")


def open_with_little_room(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    opened = open_store(Place(path))
    started(opened.connection)
    say([warning.code for warning in opened.warnings])


def make_titled(path: Path) -> None:
    connection = open_store(Place(path)).connection
    say("ready")
    sys.stdin.readline()
    for number in range(100):
        conversations.create(connection, conversations.Header(f"{os.getpid()}-{number}", "/project"))
        say(number)


DOINGS = {
    doing.__name__: doing
    for doing in (
        write_turns,
        write_and_remember,
        hold_writing,
        hold_file,
        hold_folder,
        hold_lease,
        hold_turn,
        migrate_slowly,
        open_only,
        leave_work,
        make_titled,
        open_with_little_room,
    )
}

if __name__ == "__main__":
    DOINGS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
