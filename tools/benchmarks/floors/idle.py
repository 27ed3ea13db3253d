"""A process that has imported what a server needs, has sent a request, and waits."""

import asyncio
import ssl
import sys

import apsw
import msgspec  # noqa: F401 - part of the floor
from pygls.lsp.server import LanguageServer

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
import httpx  # noqa: E402 - behind the line above


async def main() -> None:
    """One request, one frame, then nothing."""
    server, connection = LanguageServer("floor", "1"), apsw.Connection(":memory:")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(verify=context, trust_env=False) as client:
        await client.post(f"{sys.argv[1]}/chat/completions", content=b"{}")
        sys.stdout.write('Content-Length: 16\r\n\r\n{"kind":"ready"}')
        sys.stdout.flush()
        await asyncio.Event().wait()
    del server, connection


asyncio.run(main())
