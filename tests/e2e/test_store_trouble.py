"""A store that cannot be used is told in one message; turns are answered, and nobody's data is touched."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from smith_server.store.migrate import known_steps
from tests.e2e.client import Client, RpcError
from tests.e2e.command import Done, smith
from tests.e2e.world import REPOSITORY, World

GOOD = [{"text": "All is well."}]


def database(world: World) -> Path:
    return world.home / "smith" / "smith.db"


async def used(world: World) -> Path:
    """A store with some conversations in it."""
    world.script([{"text": "word " * 400}], loop=True)
    for _ in range(3):
        assert (await smith(world, "run", "fill it")).code == 0
    world.script(GOOD, loop=True)
    return database(world)


@asynccontextmanager
async def held(path: Path, how: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Another process has the store (`hold_writing`, `hold_file`) until the answer is called."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    command = (sys.executable, "-m", "tests.store.child", how, str(path))
    process = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, **pipes)
    assert process.stdin is not None
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"

    async def release() -> None:
        process.stdin.write(b"\n")
        await process.wait()

    try:
        yield release
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def notices(client: Client) -> str:
    return " ".join(event["text"] for event in client.events if event["kind"] == "notice")


def in_memory(done: Done) -> None:
    assert (done.code, done.out) == (0, "All is well.\n")
    assert done.err.count("kept in memory only") == done.err.count("\n") == 1


def file_where_the_folder_should_be(world: World) -> None:
    (world.home / "smith").write_text("not a folder")


def link_to_nowhere(world: World) -> None:
    (world.home / "smith").symlink_to("/proc/nowhere/smith")


def folder_at_the_path(world: World) -> None:
    database(world).mkdir(parents=True)


def pipe_at_the_path(world: World) -> None:
    database(world).parent.mkdir()
    os.mkfifo(database(world))


unusable = pytest.mark.parametrize(
    "make", [file_where_the_folder_should_be, link_to_nowhere, folder_at_the_path, pipe_at_the_path]
)


@unusable
async def test_where_nothing_can_be_stored_a_run_works_in_memory(world: World, make: Callable[[World], None]) -> None:
    world.script(GOOD)
    make(world)
    in_memory(await smith(world, "run", "hi"))


async def test_where_nothing_can_be_stored_a_server_works_in_memory(world: World) -> None:
    world.script(GOOD, GOOD)
    folder_at_the_path(world)
    client = await world.server()
    for turn in ("t000001", "t000002"):
        answer = await client.run("smith.turn", text="hi")
        assert (answer["stop_reason"], answer["turn"]) == ("completed", turn)
    assert notices(client).count("kept in memory only") == 1
    assert await client.stop() == 0


def cut_off(data: bytes) -> bytes:
    return data[:1000]


def without_header(data: bytes) -> bytes:
    return bytes(100) + data[100:]


def with_a_page_of_nothing(data: bytes) -> bytes:
    return data[:4096] + bytes(4096) + data[8192:]


def with_flipped_bits(data: bytes) -> bytes:
    flipped = bytearray(data)
    for at in range(50, len(flipped), 97):
        flipped[at] ^= 0xFF
    return bytes(flipped)


def text(data: bytes) -> bytes:
    return b"dear diary\n" * 1000


damages = pytest.mark.parametrize(
    "damage", [cut_off, without_header, with_a_page_of_nothing, with_flipped_bits, text], ids=lambda each: each.__name__
)


@damages
async def test_a_damaged_store_is_put_aside_and_a_new_one_begun(world: World, damage: Callable[[bytes], bytes]) -> None:
    path = await used(world)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    done = await smith(world, "run", "hi")
    aside = min(each for each in path.parent.iterdir() if ".damaged-" in each.name)
    assert (done.code, done.out) == (0, "All is well.\n")
    assert str(path) in done.err
    assert str(aside) in done.err
    assert aside.read_bytes() == damaged
    again = await smith(world, "run", "-c", "go on", "--json")
    assert (again.code, again.lines[-1]["turn"], again.err) == (0, "t000002", "")


async def test_a_server_says_in_the_conversation_that_a_store_was_put_aside(world: World) -> None:
    path = await used(world)
    path.write_bytes(text(b""))
    client = await world.server()
    answer = await client.run("smith.turn", text="hi")
    assert answer["text"] == "All is well."
    assert ".damaged-" in notices(client)


async def test_a_newer_store_is_left_alone_and_said_to_need_a_newer_smith(world: World) -> None:
    path = await used(world)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=delete")
        connection.execute(f"PRAGMA user_version={len(known_steps()) + 1}")
    connection.close()
    before = {each.name: each.read_bytes() for each in path.parent.iterdir() if "smith.db" in each.name}
    for words in (("run", "hi"), ("chat",)):
        done = await smith(world, *words)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "newer smith" in done.err
        assert "Update smith" in done.err
    client = await world.server()
    for _ in range(2):
        with pytest.raises(RpcError, match="newer smith") as told:
            await client.run("smith.turn", text="hi")
        assert (told.value.data["kind"], told.value.data["code"]) == ("persistence", "newer")
    assert await client.stop() == 0
    after = {each.name: each.read_bytes() for each in path.parent.iterdir() if "smith.db" in each.name}
    assert after == before


async def test_a_short_lock_is_not_noticed(world: World) -> None:
    path = await used(world)
    client = await world.server()
    async with held(path, "hold_writing") as release:
        _, turn = client.command("smith.turn", text="hi")
        await asyncio.sleep(1.5)
        await release()
        assert (await turn)["text"] == "All is well."
    assert "persistence_error" not in client.kinds()
    assert await messages(world, client) == 4


@pytest.mark.slow
async def test_a_long_lock_is_told_once_and_what_was_said_is_stored_when_it_is_gone(world: World) -> None:
    path = await used(world)
    client = await world.server()
    await client.run("smith.turn", text="before")
    async with held(path, "hold_writing") as release:
        for _ in range(2):
            answer = await client.run("smith.turn", text="during")
            assert (answer["stop_reason"], answer["text"]) == ("completed", "All is well.")
        error = await client.event("persistence_error")
        assert error["error"]["retryable"]
        await release()
    await client.run("smith.turn", text="after")
    assert client.kinds().count("persistence_error") == 1
    assert await messages(world, client) == 10


@pytest.mark.slow
async def test_what_a_lock_keeps_from_being_stored_until_the_end_is_said_at_the_end(world: World) -> None:
    path = await used(world)
    client = await world.server()
    await client.run("smith.turn", text="before")
    async with held(path, "hold_writing"):
        assert (await client.run("smith.turn", text="during"))["stop_reason"] == "completed"
        assert await client.stop() == 1
    told = [params["message"] for method, params in client.notes if method == "window/showMessage"]
    assert any("may not be stored" in text or "is lost" in text for text in told)


async def messages(world: World, client: Client) -> int:
    """How many messages of the client's conversation another process finds after its end."""
    conversation = client.events[0]["conversation"]
    assert await client.stop() == 0
    with sqlite3.connect(f"file:{database(world)}?mode=ro", uri=True) as connection:
        row = connection.execute("SELECT count(*) FROM message WHERE conversation = ?", (conversation,)).fetchone()
    connection.close()
    return int(row[0])


@pytest.mark.slow
async def test_a_store_that_stays_locked_is_told_and_tried_again_by_a_server(world: World) -> None:
    path = await used(world)
    async with held(path, "hold_file") as release:
        done = await smith(world, "run", "hi")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert "keeps" in done.err
        assert "locked" in done.err
        client = await world.server()
        with pytest.raises(RpcError) as told:
            await client.run("smith.turn", text="hi")
        assert (told.value.data["code"], told.value.data["retryable"]) == ("locked", True)
        await release()
    assert (await client.run("smith.turn", text="hi"))["text"] == "All is well."
    assert await client.stop() == 0
