import asyncio
import os
from pathlib import Path

import pytest

from smith_server.lsp.pipe import read_pipe

SAID = b"words " * 50_000


async def taken(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    over = asyncio.Event()

    def take(data: bytes) -> None:
        pieces.append(data)
        if not data:
            over.set()

    read_pipe(descriptor, asyncio.get_running_loop(), take)
    async with asyncio.timeout(20):
        await over.wait()
    await asyncio.sleep(0)
    assert pieces.count(b"") == 1
    return b"".join(pieces)


async def test_all_of_a_file_is_read_and_then_its_end(tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_bytes(SAID)
    with file.open("rb") as opened:
        assert await taken(opened.fileno()) == SAID


@pytest.mark.parametrize("said", [SAID, b""], ids=["much", "nothing"])
async def test_all_of_a_pipe_is_read_and_then_its_end(said: bytes) -> None:
    inward, outward = os.pipe()
    reading = asyncio.create_task(taken(inward))
    with os.fdopen(outward, "wb", buffering=0) as writer:
        await asyncio.to_thread(writer.write, said)
    assert await reading == said
    os.close(inward)
