"""Whether an Ollama answers at an address, asked without a client library: it must not cost a start."""

import asyncio
import ssl
from urllib.parse import urlsplit

_MOST = 4096


async def answers(url: str, timeout: float = 0.3) -> bool:
    """Whether the server at `url` says within `timeout` seconds that it is an Ollama."""
    try:
        async with asyncio.timeout(timeout):
            head, _, body = (await _version(url)).partition(b"\r\n\r\n")
    except (OSError, ValueError, ssl.SSLError):
        return False
    return head.split(b" ")[1:2] == [b"200"] and b'"version"' in body


async def _version(url: str) -> bytes:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None)
    try:
        path = parts.path.rstrip("/") + "/api/version"
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {parts.hostname}\r\nConnection: close\r\n\r\n".encode("ascii"))
        data = b""
        while len(data) < _MOST and (more := await reader.read(_MOST)):
            data += more
        return data
    finally:
        writer.close()
