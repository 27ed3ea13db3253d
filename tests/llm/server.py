"""A small HTTP server on loopback that does exactly what a test says, well or badly."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct


class Asked(Struct, frozen=True):
    """A request as it arrived; header names in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Line:
    """The server's end of a connection while a request is answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()

    async def head(self, status: int = 200, length: int | None = None, **headers: str) -> None:
        """Status and headers; the body is chunked unless its length is given."""
        named = {"content-type": "text/event-stream"} | {name.replace("_", "-"): text for name, text in headers.items()}
        named |= {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}
        lines = "".join(f"{name}: {text}\r\n" for name, text in named.items())
        await self.send(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode())

    async def chunks(self, *pieces: bytes) -> None:
        await self.send(*(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces))

    async def end(self) -> None:
        await self.send(b"0\r\n\r\n")

    async def stream(self, *pieces: bytes) -> None:
        """A whole streamed answer."""
        await self.head()
        await self.chunks(*pieces)
        await self.end()

    async def reply(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer of known length."""
        await self.head(status, len(body), **headers)
        await self.send(body)

    def close(self) -> None:
        """End the connection in order."""
        self._writer.close()

    def reset(self) -> None:
        """End the connection with a reset."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def until_gone(self) -> None:
        """Wait until the client closes the connection."""
        try:
            while await self._reader.read(1024):
                pass
        except OSError:
            pass


Answering = Callable[[Line], Awaitable[object]]


class Server:
    """Answers the n-th request with the n-th of `answers`, the last one from then on."""

    def __init__(self, *answers: Answering) -> None:
        self.answers = answers
        self.asked: list[Asked] = []
        self.connections = 0
        self.port = 0
        self.gone_at = 0.0
        self.open: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}
        self.arrived = asyncio.Event()
        self.gone = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open[asyncio.current_task()] = writer
        line = Line(reader, writer)
        try:
            while (asked := await _next_request(reader)) is not None:
                self.asked.append(asked)
                self.arrived.set()
                await self.answers[min(len(self.asked), len(self.answers)) - 1](line)
                if writer.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone_at = time.monotonic()
            self.gone.set()
            writer.close()
            del self.open[asyncio.current_task()]

    async def hang_up(self) -> None:
        """End every connection, and what still answers on it."""
        for writer in self.open.values():
            writer.transport.abort()
        tasks = [task for task in self.open if task is not None]
        if tasks:
            await asyncio.wait(tasks)


@asynccontextmanager
async def serving(*answers: Answering) -> AsyncIterator[Server]:
    """A running `Server`."""
    server = Server(*answers)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await server.hang_up()


async def _next_request(reader: asyncio.StreamReader) -> Asked | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1") if not reader.at_eof() else ""
    if not head:
        return None
    first, *rest = head.strip().split("\r\n")
    headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in rest)}
    return Asked(first, headers, await reader.readexactly(int(headers.get("content-length", 0))))
