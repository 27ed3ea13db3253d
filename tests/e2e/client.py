"""A language client that speaks bare JSON-RPC to a real server process."""

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from smith_server.lsp.frames import FrameReader, frame

Handler = Callable[[dict[str, Any]], Any]
SECONDS = 20.0


class RpcError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data") or {}


class Client:
    """One server process; `handlers` answer its requests, `notes` holds its notifications. While `reads` is not set
    nothing is read of what it writes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.handlers: dict[str, Handler] = {}
        self.notes: list[tuple[str, Any]] = []
        self.raw = bytearray()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._answers: set[asyncio.Future[None]] = set()
        self._changed = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        environ: dict[str, str],
        cwd: Path,
        command: Sequence[str] = ("-m", "smith_server", "serve"),
        errors: IO[bytes] | None = None,
        limit: int = 1 << 24,
    ) -> "Client":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=environ,
            cwd=cwd,
            limit=limit,
        )
        return cls(process)

    async def initialize(self, root: Path, *, plugin: bool = True, **more: Any) -> Any:
        own = {"protocol": 1, "events": True, "applyEdit": True}
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri(),
            "capabilities": {
                "general": {"positionEncodings": ["utf-16"]},
                "experimental": {"smith": own} if plugin else None,
            },
            **more,
        }
        result = await self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def call(self, method: str, params: Any) -> tuple[int, "asyncio.Future[Any]"]:
        name = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[name] = future
        self._send({"id": name, "method": method, "params": params})
        return name, future

    async def request(self, method: str, params: Any, seconds: float = SECONDS) -> Any:
        return await asyncio.wait_for(self.call(method, params)[1], seconds)

    def command(self, name: str, /, **argument: Any) -> tuple[int, "asyncio.Future[Any]"]:
        return self.call("workspace/executeCommand", {"command": name, "arguments": [argument]})

    async def run(self, name: str, /, **argument: Any) -> Any:
        return await asyncio.wait_for(self.command(name, **argument)[1], SECONDS)

    def open(self, path: Path, text: str, version: int = 1) -> None:
        item = {"uri": path.as_uri(), "languageId": "text", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, path: Path, text: str, version: int) -> None:
        params = {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", params)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [params for method, params in self.notes if method == "smith/event"]

    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.events]

    def text(self) -> str:
        return "".join(event["text"] for event in self.events if event["kind"] == "llm_output_delta")

    async def event(self, kind: str, seconds: float = SECONDS, **fields: Any) -> dict[str, Any]:
        def wanted(event: dict[str, Any]) -> bool:
            return event["kind"] == kind and all(event.get(name) == value for name, value in fields.items())

        async with asyncio.timeout(seconds):
            while True:
                if found := [event for event in self.events if wanted(event)]:
                    return found[-1]
                await self.something()

    async def something(self) -> None:
        """Wait until anything came in."""
        self._changed.clear()
        await self._changed.wait()

    async def stop(self) -> int:
        """The orderly end: shutdown, exit."""
        await self.request("shutdown", None)
        self.notify("exit", None)
        return await asyncio.wait_for(self.process.wait(), SECONDS)

    async def close(self) -> None:
        """Whatever state it is in, nothing is left."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    async def _read(self) -> None:
        frames = FrameReader()
        assert self.process.stdout is not None
        while await self.reads.wait() and (data := await self.process.stdout.read(65536)):
            self.raw += data
            for body in frames.feed(data):
                await self._take(json.loads(body))
            self._changed.set()

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            future = self._waiting.pop(message["id"], None)
            if future is not None and not future.done():
                if "error" in message:
                    future.set_exception(RpcError(message["error"]))
                else:
                    future.set_result(message.get("result"))
        elif "id" in message:
            task = asyncio.ensure_future(self._answer(message))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
        else:
            self.notes.append((message["method"], message.get("params")))

    async def _answer(self, message: dict[str, Any]) -> None:
        handler = self.handlers.get(message["method"])
        if handler is None:
            self._send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
            return
        result = handler(message["params"])
        if asyncio.iscoroutine(result):
            result = await result
        self._send({"id": message["id"], "result": result})
