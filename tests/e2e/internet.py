"""A small internet on loopback: a proxy that answers itself for the hosts of model providers, with TLS they trust."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trustme
from msgspec import Struct

HOSTS = ("openrouter.ai", "api.openai.com", "api.anthropic.com")
SAID = {"choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": "stop"}]}


class Asked(Struct, frozen=True):
    """One request; `host` is "" when it came without the proxy."""

    host: str
    method: str
    path: str
    body: Any


class Internet:
    """`environ` leads a process here. `models` is what a list of models says, `pulled` what an Ollama has (None: there
    is no Ollama); `replies` are the first answers to prompts, as parts of a chunk, which take `thinks` seconds."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*HOSTS).configure_cert(self._context)
        self._certificates = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self._certificates))
        self.asked: list[Asked] = []
        self.models: list[dict[str, Any]] = []
        self.pulled: list[str] | None = None
        self.replies: list[dict[str, Any]] = []
        self.thinks = 0.0
        self.port = 0
        self.open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        return {"HTTPS_PROXY": self.url, "SSL_CERT_FILE": str(self._certificates), "OLLAMA_HOST": self.url}

    @property
    def prompts(self) -> list[Asked]:
        """The requests to models."""
        return [each for each in self.asked if each.path.endswith(("/chat/completions", "/messages"))]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        host = ""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                method, path, _ = head.decode().split(" ", 2)
                if method == "CONNECT":
                    host = path.partition(":")[0]
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    await writer.start_tls(self._context)
                    continue
                _, found, rest = head.lower().partition(b"content-length:")
                body = await reader.readexactly(int(rest.split(b"\r\n", 1)[0]) if found else 0)
                self.asked.append(Asked(host, method, path, json.loads(body) if body else None))
                if "model" in str(self.asked[-1].body):
                    await asyncio.sleep(self.thinks)
                writer.write(self._answer(method, path, body))
                await writer.drain()
                if b"connection: close" in head.lower():
                    break
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()

    def _answer(self, method: str, path: str, body: bytes) -> bytes:
        if path.endswith("/chat/completions"):
            reply = self.replies.pop(0) if self.replies else SAID
            return _response(f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")
        if path.endswith("/messages"):
            return _response(_as_messages(), "text/event-stream")
        if path == "/api/version" and self.pulled is not None:
            return _response(b'{"version": "1.0"}')
        if path.endswith("/models") and method == "GET":
            names = self.models or [{"id": name} for name in self.pulled or ()]
            return _response(json.dumps({"data": names}).encode())
        return b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


def _response(body: bytes, kind: str = "application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (kind.encode(), len(body), body)


def _as_messages() -> bytes:
    """The same answer in the other dialect."""
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 1},
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Yes."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


@asynccontextmanager
async def internet(folder: Path) -> AsyncIterator[Internet]:
    """One that runs."""
    made = Internet(folder)
    listener = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = listener.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listener.close()
        for writer in list(made.open):
            writer.transport.abort()
