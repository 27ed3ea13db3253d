"""A front-end at the other end of the standard streams: frames out, frames in, with the time of each."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, cast

from benchmarks.place import Place


class Frontend(asyncio.SubprocessProtocol):
    """One process that speaks frames. `frames` are arrival time in nanoseconds and body."""

    def __init__(self, place: Place) -> None:
        self.frames: list[tuple[int, bytes]] = []
        self.began = time.monotonic_ns()
        self.pid = 0
        self._place = place
        self._buffer = bytearray()
        self._news = asyncio.Event()
        self._over = False
        self._ids = 0

    @classmethod
    async def start(cls, place: Place, command: Sequence[str], home: str = "home") -> "Frontend":
        """Start the process."""
        _, made = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(place),
            *command,
            env=place.environ(home),
            cwd=place.project,
            stderr=None,
            start_new_session=True,
        )
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._input = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        self.pid = self._transport.get_pid()
        self._place.own(self.pid)

    def send(self, method: str, params: Any, *, notify: bool = False) -> int:
        """Send a request or a notification; the time just before."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notify:
            self._ids += 1
            message["id"] = self._ids
        body = json.dumps(message).encode()
        data = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        now = time.monotonic_ns()
        self._input.write(data)
        return now

    async def initialize(self) -> int:
        """The handshake as our plugin makes it; the time of the answer."""
        own = {"protocol": 1, "events": True, "applyEdit": True}
        capabilities = {"general": {"positionEncodings": ["utf-16"]}, "experimental": {"smith": own}}
        root = self._place.project.as_uri()
        self.send("initialize", {"processId": None, "rootUri": root, "capabilities": capabilities})
        answered = await self.frame(b'"capabilities"')
        self.send("initialized", {}, notify=True)
        return answered

    def turn(self, text: str) -> int:
        """Send a prompt; the time just before."""
        self.frames.clear()
        return self.send("workspace/executeCommand", {"command": "smith.turn", "arguments": [{"text": text}]})

    async def frame(self, mark: bytes, seconds: float = 60.0) -> int:
        """The arrival of the first frame that holds `mark`."""
        known = 0
        async with asyncio.timeout(seconds):
            while True:
                for arrived, body in self.frames[known:]:
                    if mark in body:
                        return arrived
                if self._over:
                    raise RuntimeError(f"the process ended before it sent {mark.decode()}")
                known = len(self.frames)
                self._news.clear()
                await self._news.wait()

    async def close(self) -> None:
        """End the process."""
        self._place.end(self.pid)
        while not self._over:
            self._news.clear()
            await self._news.wait()
        self._transport.close()

    def pipe_data_received(self, fd: int, data: bytes | bytearray) -> None:
        now = time.monotonic_ns()
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            size = int(self._buffer[:end].lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            if len(self._buffer) < end + 4 + size:
                break
            self.frames.append((now, bytes(self._buffer[end + 4 : end + 4 + size])))
            del self._buffer[: end + 4 + size]
        self._news.set()

    def process_exited(self) -> None:
        self._over = True
        self._news.set()
