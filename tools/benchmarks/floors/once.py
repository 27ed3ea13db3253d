"""Floors A and H: start, one request with the bare libraries, read the answer, leave without ceremony.

Prints nanoseconds when the answer is read and its text is whole.
"""

import argparse
import asyncio
import os
import ssl
import sys
import time

import apsw  # noqa: F401 - part of the floor
import msgspec

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
import httpx  # noqa: E402 - behind the line above


class Delta(msgspec.Struct):
    """What a token comes in."""

    content: str | None = None


class Choice(msgspec.Struct):
    """One of the answers."""

    delta: Delta


class Chunk(msgspec.Struct):
    """One event."""

    choices: list[Choice]


async def ask(url: str, body: bytes) -> str:
    """The text of one streamed answer, joined for each read."""
    decode = msgspec.json.Decoder(Chunk).decode
    texts, rest = [], b""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with (
        httpx.AsyncClient(verify=context, trust_env=False) as client,
        client.stream("POST", f"{url}/chat/completions", content=body, timeout=60) as response,
    ):
        async for data in response.aiter_bytes():
            *events, rest = (rest + data).split(b"\n\n")
            chunks = [decode(event[6:]) for event in events if not event.endswith(b"[DONE]")]
            texts.append("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))
    return "".join(texts)


def main() -> None:
    """One request to the address that is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("body", nargs="?", default="hello")
    words = parser.parse_args()
    body = msgspec.json.encode({"model": "bench", "messages": [{"role": "user", "content": words.body}]})
    asyncio.run(ask(words.url, body))
    print(time.monotonic_ns(), flush=True)
    os._exit(0)


main()
