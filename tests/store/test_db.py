import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from smith_server.core.errors import AgentError, AgentFailure
from smith_server.store import conversations, turns
from smith_server.store.conversations import Header
from smith_server.store.damage import MOST_TO_CHECK
from smith_server.store.db import Database
from smith_server.store.opening import Place
from smith_server.store.writes import AddMessage
from tests.store.builders import TALK, batches_of_turn, started, stored, user
from tests.store.conftest import Start
from tests.store.test_opening import filled, names, newer, overwrite


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(Place(tmp_path / "smith.db", busy_ms=100))
    yield database
    await database.close()


async def failed(work: "asyncio.Future[object] | asyncio.Task[object]") -> AgentError:
    with pytest.raises(AgentFailure) as raised:
        await work
    assert raised.value.error.kind == "persistence"
    return raised.value.error


async def test_what_is_stored_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    first = await Database.open(path)
    made = await first.call(lambda connection: conversations.create(connection, Header("a", "/project")))
    await first.close()
    again = await Database.open(path)
    assert (again.path, again.warnings) == (path, ())
    assert await again.call(lambda connection: conversations.get(connection, "a")) == made
    await again.close()
    assert names(tmp_path) == ["smith.db", "smith.db.seal"]


async def test_a_store_in_memory_works_the_same(tmp_path: Path) -> None:
    database = await Database.open(None)
    await database.call(started)
    assert await database.call(lambda connection: conversations.count(connection, TALK)) == 0
    assert (database.path, database.warnings) == (None, ())
    await database.close()


async def test_everything_is_done_on_one_thread_and_in_the_order_asked(database: Database) -> None:
    threads: list[int] = []
    order: list[int] = []

    def work(number: int) -> None:
        threads.append(threading.get_ident())
        order.append(number)

    await asyncio.gather(*(database.call(lambda _, number=number: work(number)) for number in range(50)))  # type: ignore[misc]
    assert order == list(range(50))
    assert set(threads) == {threads[0]} != {threading.get_ident()}


async def test_what_was_asked_for_is_done_though_its_caller_was_cancelled(database: Database) -> None:
    begun, may_go = threading.Event(), threading.Event()

    def slow(connection: apsw.Connection) -> None:
        begun.set()
        may_go.wait(10)
        started(connection)

    task = asyncio.create_task(database.call(slow))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    may_go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await database.call(lambda connection: conversations.get(connection, TALK)) is not None


async def test_a_mistake_of_the_caller_is_raised_to_the_caller_and_the_store_goes_on(database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        await database.call(lambda _: 1 // 0)
    await database.call(started)
    error = await failed(asyncio.create_task(database.call(started)))
    assert (error.code, error.retryable) == ("rejected", False)
    assert await database.call(lambda connection: conversations.count(connection, TALK)) == 0


async def test_a_lock_of_another_process_that_goes_in_time_is_not_noticed(tmp_path: Path, start: Start) -> None:
    path = tmp_path / "smith.db"
    database = await Database.open(path)
    other = start("hold_writing", path)
    assert other.stdin is not None and other.stdout is not None and other.stdout.readline() == "ready\n"
    task = asyncio.create_task(database.call(started))
    await asyncio.wait([task], timeout=0.1)
    assert not task.done()
    other.stdin.write("go on\n")
    other.stdin.flush()
    await task
    await database.close()


async def test_a_lock_that_stays_is_an_error_that_passes_and_loses_nothing(
    database: Database, tmp_path: Path, start: Start
) -> None:
    await database.call(started)
    other = start("hold_writing", tmp_path / "smith.db")
    assert other.stdout is not None and other.stdout.readline() == "ready\n"
    batch = [AddMessage(TALK, user(1))]
    error = await failed(asyncio.create_task(database.call(lambda connection: turns.apply(connection, batch))))
    assert (error.code, error.retryable, error.data) == ("locked", True, {"file": str(tmp_path / "smith.db")})
    assert await database.call(lambda connection: conversations.count(connection, TALK)) == 0
    other.communicate("go on\n")
    await database.call(lambda connection: turns.apply(connection, batch))
    assert await database.call(lambda connection: conversations.count(connection, TALK)) == 1


async def test_a_full_disk_is_told_and_what_was_stored_stays(database: Database) -> None:
    await database.call(started)
    await database.call(lambda connection: stored(connection, batches_of_turn(1)))
    await database.call(lambda connection: connection.pragma("max_page_count", connection.pragma("page_count")))
    large = [AddMessage(TALK, user(2, text="x" * 100_000))]
    error = await failed(asyncio.create_task(database.call(lambda connection: turns.apply(connection, large))))
    assert (error.code, error.retryable) == ("full", False)
    assert await database.call(lambda connection: conversations.count(connection, TALK)) == 5
    await database.call(lambda connection: connection.pragma("max_page_count", 1_000_000))
    await database.call(lambda connection: turns.apply(connection, large))
    assert await database.call(lambda connection: connection.execute("PRAGMA integrity_check").get) == "ok"


async def test_a_disk_that_became_read_only_is_told(database: Database) -> None:
    await database.call(lambda connection: connection.pragma("query_only", True))
    error = await failed(asyncio.create_task(database.call(started)))
    assert (error.code, error.retryable) == ("read_only", False)


def read_by_table_and_by_index(connection: apsw.Connection) -> None:
    for table in ("message", "turn", "usage"):
        list(connection.execute(f"SELECT * FROM {table}"))
        list(connection.execute(f"SELECT count(*) FROM {table} WHERE conversation > ''"))


async def test_damage_that_is_met_while_working_is_told_and_put_aside_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    filled(path, 120)
    # The last quarter holds messages alone; opening reads what lies before it.
    start = path.stat().st_size // 4096 * 3 // 4 * 4096
    overwrite(path, start, bytes(path.stat().st_size - start))
    os.truncate(path, MOST_TO_CHECK + 4096)
    database = await Database.open(path)
    assert database.warnings == ()
    error = await failed(asyncio.create_task(database.call(read_by_table_and_by_index)))
    assert (error.code, error.retryable) == ("corrupt", False)
    await database.close()
    again = await Database.open(path)
    assert [warning.code for warning in again.warnings] == ["corrupt"]
    await again.close()


async def test_a_newer_store_is_an_error_of_opening(tmp_path: Path) -> None:
    newer(tmp_path / "smith.db")
    before = threading.active_count()
    error = await failed(asyncio.create_task(Database.open(tmp_path / "smith.db")))
    assert error.code == "newer"
    until = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < until


async def test_closing_waits_for_what_was_asked_before(tmp_path: Path) -> None:
    path = tmp_path / "smith.db"
    database = await Database.open(path)
    begun, may_go = threading.Event(), threading.Event()

    def slow(connection: apsw.Connection) -> None:
        begun.set()
        may_go.wait(30)
        started(connection)

    task = asyncio.create_task(database.call(slow))
    await asyncio.to_thread(begun.wait, 30)
    closing = asyncio.create_task(database.close(seconds=30))
    await asyncio.wait([closing], timeout=0.02)
    assert not closing.done()
    may_go.set()
    await closing
    await task
    again = await Database.open(path)
    assert await again.call(lambda connection: conversations.get(connection, TALK)) is not None
    await again.close()


async def test_closing_does_not_wait_for_ever(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "smith.db")
    may_go = threading.Event()
    stuck = asyncio.create_task(database.call(lambda _: may_go.wait(30)))
    await asyncio.sleep(0)
    began = time.monotonic()
    await database.close(seconds=0.05)
    assert time.monotonic() - began < 5
    may_go.set()
    await stuck


async def test_a_closed_store_says_so_and_closes_again_without_a_word(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "smith.db")
    await database.close()
    await database.close()
    error = await failed(asyncio.create_task(database.call(started)))
    assert error.code == "unavailable"


def test_a_process_ends_at_once_though_its_store_is_open_and_busy(tmp_path: Path, start: Start) -> None:
    process = start("leave_work", tmp_path / "smith.db")
    assert process.stdout is not None and process.stdout.readline() == "ended\n"
    assert process.wait(timeout=20) == 0
