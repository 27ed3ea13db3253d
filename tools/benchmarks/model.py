"""The model server: on loopback, answers at once with bytes made beforehand, and notes when."""

import asyncio
import time
from collections.abc import Iterable, Iterator

from benchmarks.replies import Reply, says


class Exchange:
    """One request and its answer; times are nanoseconds of the machine's monotonic clock."""

    def __init__(self, body: bytes) -> None:
        self.arrived = time.monotonic_ns()
        self.body = body
        self.first_sent = 0
        self.last_sent = 0
        self._go = asyncio.Event()

    def go(self) -> None:
        """Send what is held back."""
        self._go.set()

    async def write(self, transport: asyncio.Transport, reply: Reply) -> None:
        """Send a reply in pieces."""
        began = time.monotonic()
        for number, piece in enumerate(reply.pieces):
            if number and reply.hold:
                await self._go.wait()
            if reply.pause:
                await asyncio.sleep(began + number * reply.pause - time.monotonic())
            self.put(transport, piece)

    def put(self, transport: asyncio.Transport, piece: bytes) -> None:
        """Send one piece."""
        self.last_sent = time.monotonic_ns()
        self.first_sent = self.first_sent or self.last_sent
        transport.write(piece)


class Model:
    """Listens on a free port. `seen` are the exchanges since the last `play`."""

    def __init__(self) -> None:
        self.seen: list[Exchange] = []
        self._replies: Iterator[Reply] = iter(())
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.get_running_loop().create_server(lambda: _Connection(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        """The address for `llm_config.api_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def play(self, replies: Iterable[Reply]) -> None:
        """Give these replies to the next requests; after them a short one."""
        self.seen = []
        self._replies = iter(replies)

    async def request(self, number: int = 0) -> Exchange:
        """The exchange of that number since the last `play`, as soon as its request is here."""
        async with asyncio.timeout(60):
            while len(self.seen) <= number:
                self._news.clear()
                await self._news.wait()
        return self.seen[number]

    def take(self, body: bytes, transport: asyncio.Transport) -> None:
        """Answer one request."""
        exchange = Exchange(body)
        reply = next(self._replies, None) or says("nothing more")
        if len(reply.pieces) == 1:
            exchange.put(transport, reply.pieces[0])
        else:
            task = asyncio.ensure_future(exchange.write(transport, reply))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.seen.append(exchange)
        self._news.set()

    async def close(self) -> None:
        """Stop listening."""
        self._server.close()
        for task in self._tasks:
            task.cancel()


class _Connection(asyncio.Protocol):
    """One connection: requests one after the other, with a body of known length."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end]).lower()
            _, found, rest = head.partition(b"content-length:")
            size = int(rest.split(b"\r\n", 1)[0]) if found else 0
            if len(self._buffer) < end + 4 + size:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + size])
            del self._buffer[: end + 4 + size]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"post "):
            self._model.take(body, self._transport)
        else:
            self._transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
