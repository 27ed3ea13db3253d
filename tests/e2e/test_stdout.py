"""Standard output carries the protocol, or the answer, and nothing else, whoever writes to descriptor 1."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.command import smith
from tests.e2e.processes import until
from tests.e2e.world import World

PRINT = """print("JUNK by print"); sys.stdout.write("JUNK by write\\n")
sys.__stdout__.write("JUNK by the first stdout\\n")
sys.stdout.flush(); sys.__stdout__.flush()"""
DESCRIPTOR = 'os.write(1, b"JUNK by descriptor\\n"); open(1, "w", closefd=False).write("JUNK by another file\\n")'
IN_C = 'libc = ctypes.CDLL(None); libc.puts(b"JUNK by C"); libc.write(1, b"JUNK by C again\\n", 16); libc.fflush(None)'
CHILD = 'subprocess.run(["sh", "-c", "echo JUNK by a child; echo JUNK by its fd > /proc/self/fd/1"])'
WARNING = """warnings.warn("JUNK as a warning"); logging.getLogger("x").addHandler(logging.StreamHandler(sys.stdout))
logging.getLogger("x").error("JUNK as a log line")"""
THREAD = """def talk():
    while True:
        print("JUNK from a thread", flush=True); os.write(1, b"JUNK from a thread\\n"); time.sleep(0.001)
threading.Thread(target=talk, daemon=True).start()"""
WAYS = {"print": PRINT, "descriptor": DESCRIPTOR, "C": IN_C, "child": CHILD, "warning": WARNING, "thread": THREAD}

HOOK = '''
import ctypes, logging, os, subprocess, sys, threading, time, warnings
from importlib.abc import MetaPathFinder


class Noisy(MetaPathFinder):
    """Stands for a dependency that writes to standard output while it is imported."""

    def find_spec(self, name, path, target=None):
        if name in ("lsprotocol", "apsw", "httpx"):
            NOISE()


def NOISE():
    BODY


sys.meta_path.insert(0, Noisy())
'''


def noisy(world: World, way: str) -> None:
    """Have every interpreter of this world make noise."""
    folder = world.home / "hooks"
    folder.mkdir()
    body = WAYS[way].replace("\n", "\n    ")
    (folder / "sitecustomize.py").write_text(HOOK.replace("BODY", body))
    world.environ["PYTHONPATH"] = f"{folder}:{world.environ['PYTHONPATH']}"


def bodies(data: bytes) -> list[object]:
    """All messages in `data`, every byte of which has to belong to one."""
    found, at = [], 0
    while at < len(data):
        header = re.compile(rb"Content-Length: (\d+)\r\n\r\n").match(data, at)
        assert header, data[at : at + 100]
        at = header.end() + int(header[1])
        found.append(json.loads(data[header.end() : at]))
    return found


@asynccontextmanager
async def served(world: World) -> AsyncIterator[tuple[Client, Path]]:
    """A server that is ready, and the file to which its error stream goes."""
    path = world.home / "stderr"
    with path.open("wb") as errors:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "smith_server", "serve"),
            stdin=pipe,
            stdout=pipe,
            stderr=errors,
            env=world.environ,
            cwd=world.root,
        )
    client = Client(process)
    try:
        await client.initialize(world.root)
        yield client, path
    finally:
        await client.close()


async def all_of(client: Client) -> list[object]:
    """Everything that the server ever wrote, after its orderly end."""
    assert await client.stop() == 0
    assert client.process.stdout is not None
    await until(client.process.stdout.at_eof, 10)
    return bodies(bytes(client.raw))


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, world: World) -> str:
    noisy(world, request.param)
    return str(request.param)


async def test_a_dependency_that_writes_to_it_disturbs_no_frame(way: str, world: World) -> None:
    world.script([{"text": "streamed " * 200, "size": 9}])
    async with served(world) as (client, errors):
        answer = await client.run("smith.turn", text="hi")
        assert answer["text"] == "streamed " * 200
        assert len(await all_of(client)) == len(client.notes) + 3
        assert b"JUNK" not in client.raw
        assert "JUNK" in errors.read_text()


async def test_a_run_prints_nothing_but_its_lines(way: str, world: World) -> None:
    world.script([{"text": "streamed " * 200, "size": 9}])
    done = await smith(world, "run", "--json", "hi")
    assert done.lines[-1]["text"] == "streamed " * 200
    assert "JUNK" in done.err


async def test_commands_of_the_model_cannot_reach_it(world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    lines = [
        "echo JUNK; echo JUNK >&2; echo JUNK > /dev/stdout; echo JUNK > /proc/self/fd/1",
        "echo PARENT >> /proc/$PPID/fd/1; echo PARENT >> /proc/$PPID/fd/2",
        "ls /proc/self/fd | wc -l; for fd in /proc/self/fd/*; do echo JUNK > $fd; done 2>/dev/null",
        "(setsid sh -c 'sleep 0.1; echo JUNK' &)",
    ]
    world.script(*[[{"call": "bash", "arguments": {"command": line}}] for line in lines], [{"text": "Done."}])
    async with served(world) as (client, errors):
        answer = await client.run("smith.turn", text="go")
        assert answer["text"] == "Done."
        results = [event["content"] for event in client.events if event["kind"] == "tool_call_finished"]
        assert len(await all_of(client)) == len(client.notes) + 3
    assert results[0] == "JUNK\nJUNK\nJUNK\nJUNK"
    assert (results[1], errors.read_text()) == ("[no output]", "PARENT\nPARENT\n")
    assert results[2].splitlines()[0] == "4"


async def test_the_log_holds_no_text_of_messages(world: World) -> None:
    world.script(
        [{"text": "SECRET answer"}, {"call": "bash", "arguments": {"command": "echo SECRET"}}], [{"text": "."}]
    )
    client = await world.server()
    path = world.file("a", "SECRET file")
    client.open(path, "SECRET file")
    client.notify("textDocument/didChange", {"textDocument": {"uri": path.as_uri()}, "contentChanges": "SECRET"})
    client.notify("smith/editDone", {"status": 7, "message": "SECRET"})
    _, turn = client.command("smith.turn", text="SECRET prompt")
    asked = await client.event("approval_asked")
    await client.run("smith.answer", id=asked["id"], decision="no", feedback="SECRET")
    await turn
    assert await client.stop() == 0
    assert "SECRET" not in (world.home / "smith" / "logs" / "smith.log").read_text()
