"""A web server on this machine that says what a test wrote down, byte for byte."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from smith_server.tools.web_guard import Guard
from smith_server.tools.web_http import Wire


def response(body: bytes = b"", status: str = "200 OK", kind: str = "text/html", **headers: str) -> bytes:
    """A whole HTTP/1.1 response; underscores in names of headers are dashes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *([f"Content-Type: {kind}"] if kind else [])]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Site:
    """Answers by path; `requests` are the heads it got. An answer is bytes, or a function that writes them."""

    def __init__(self, pages: dict[str, bytes | Callable[[asyncio.StreamWriter], object]]) -> None:
        self.pages = pages
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((line for line in head.lower().splitlines() if line.startswith("content-length:")), ":0")
            self.bodies.append(await reader.readexactly(int(length.partition(":")[2])))
            self.requests.append(head)
            page = self.pages.get(head.split()[1], response(b"", "404 Not Found"))
            if callable(page):
                await page(writer)
            else:
                writer.write(page)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(pages, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    site = Site(pages)
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


def open_guard(names: dict[str, list[str]] | None = None) -> Guard:
    """A guard that lets tests reach this machine."""

    async def resolve(host):
        return (names or {}).get(host, [])

    return Guard(Wire(), resolve, allow_private=True)
