"""The command `smith` as a shell would start it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.world import World

SECONDS = 30.0


class Done(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def only(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]


async def start(world: World, *words: str, **more: Any) -> asyncio.subprocess.Process:
    """`smith WORDS` in the project; all three streams are pipes unless said otherwise."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
    cwd: Path = more.pop("cwd", world.root)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "smith_server", *words, env=world.environ, cwd=cwd, **{**pipes, **more}
    )


async def ended(process: asyncio.subprocess.Process, seconds: float = SECONDS) -> Done:
    """Wait for its end, its input left open."""
    assert process.stderr is not None
    streams = [stream.read() for stream in (process.stdout, process.stderr) if stream is not None]
    *out, err = await asyncio.wait_for(asyncio.gather(*streams), seconds)
    code = await asyncio.wait_for(process.wait(), seconds)
    return _done(code, b"".join(out), err)


async def smith(world: World, *words: str, **more: Any) -> Done:
    """Run `smith WORDS` to its end with no input."""
    return await ended(await start(world, *words, stdin=asyncio.subprocess.DEVNULL, **more))


async def shell(world: World, line: str) -> Done:
    """Run a line of shell in which `$smith` is the command."""
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        line,
        env={**world.environ, "smith": f"{sys.executable} -m smith_server"},
        cwd=world.root,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    return await ended(process)


def _done(code: int, out: bytes, err: bytes) -> Done:
    said = err.decode()
    assert "Traceback" not in said, said
    assert "Exception ignored" not in said, said
    return Done(code, out.decode(), said)
