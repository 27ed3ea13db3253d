"""Floor G: `bash -c true` in its own session with pipes, two commits, one warm request, again and again.

Ends with the first answer that holds no call.
"""

import asyncio
import os
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
import httpx  # noqa: E402 - behind the line above


def opened(path: str) -> apsw.Connection:
    """A database with one table."""
    connection = apsw.Connection(path)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "normal")
    connection.execute("CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, body BLOB)")
    return connection


async def ask(client: httpx.AsyncClient, url: str, body: bytes) -> bytes:
    """The bytes of one answer."""
    async with client.stream("POST", f"{url}/chat/completions", content=body) as response:
        return b"".join([data async for data in response.aiter_bytes()])


async def bash() -> bytes:
    """What `true` writes."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", "true"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    output, _ = await process.communicate()
    return output


async def main(url: str, body: bytes, database: str) -> None:
    """Steps until the model has enough."""
    connection, thread = opened(database), ThreadPoolExecutor(1)
    loop = asyncio.get_running_loop()

    async def commit(data: bytes) -> None:
        row = (data,)
        await loop.run_in_executor(thread, lambda: connection.execute("INSERT INTO event (body) VALUES (?)", row))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(verify=context, trust_env=False, timeout=60) as client:
        while b"tool_calls" in (answer := await ask(client, url, body)):
            await commit(answer)
            await commit(await bash())
    os._exit(0)


asyncio.run(main(sys.argv[1], Path(sys.argv[2]).read_bytes(), sys.argv[3]))
