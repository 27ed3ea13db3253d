"""Floors C, D and E: a warm process between a front-end and a model, with the bare libraries.

A frame in is one request out; its first bytes are one commit (NORMAL) on a thread and one frame
out, its end one commit (FULL) and one frame.
"""

import asyncio
import os
import ssl
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import msgspec

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
import httpx  # noqa: E402 - behind the line above

INSERT = "INSERT INTO event (body) VALUES (?)"


class Session:
    """One client, one connection to the model, one database."""

    def __init__(self, url: str, body: str, database: str) -> None:
        self._url = f"{url}/chat/completions"
        self._body = Path(body).read_bytes()
        self._connection = apsw.Connection(database)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "normal")
        self._connection.execute("CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, body BLOB)")
        self._thread = ThreadPoolExecutor(1)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.AsyncClient(verify=context, trust_env=False, timeout=60)

    async def turn(self) -> None:
        """One prompt."""
        async with self._client.stream("POST", self._url, content=self._body) as response:
            first = True
            async for data in response.aiter_bytes():
                if first:
                    await self._commit(data, "NORMAL")
                    send(b'{"kind":"llm_output_delta","text":"hello"}')
                    first = False
        await self._commit(b"end", "FULL")
        send(b'{"kind":"turn_completed"}')

    async def _commit(self, body: bytes, level: str) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._insert, body, level)

    def _insert(self, body: bytes, level: str) -> None:
        if level == "FULL":
            self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(INSERT, (body,))
        if level == "FULL":
            self._connection.execute("PRAGMA synchronous=NORMAL")


def send(body: bytes) -> None:
    """One frame out."""
    os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


async def main() -> None:
    """Answer frames until the end of input."""
    url, body, database = sys.argv[1:]
    session = Session(url, body, database)
    loop, arrivals = asyncio.get_running_loop(), asyncio.Queue[bytes]()

    def read() -> None:
        while data := os.read(0, 65536):
            loop.call_soon_threadsafe(arrivals.put_nowait, data)

    threading.Thread(target=read, daemon=True).start()
    while True:
        msgspec.json.decode((await arrivals.get()).partition(b"\r\n\r\n")[2])
        await session.turn()


asyncio.run(main())
