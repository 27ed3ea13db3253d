"""Ten streams of the case data over real connections, ended as the case says."""

import asyncio
from typing import Any

import msgspec
import pytest

from smith_server.llm.http import Connections
from smith_server.llm.presets import PRESETS
from smith_server.llm.provider import HttpProvider
from smith_server.llm.stall import Timeouts
from tests.cases.test_sse_streams import CASES, shown, with_ids
from tests.llm.hearing import heard
from tests.llm.server import Line, serving


def chosen() -> list[dict[str, Any]]:
    """Ten cases: for each shape and each way to end those with the most reads, then packed ones and refusals."""
    by_reads = sorted(CASES, key=lambda case: -len(case["input"]["chunks_latin1"]))
    first: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for case in by_reads:
        given = case["input"]
        first.setdefault((given["shape"], given.get("end", "eof")), []).append(case)
    picked = [case for group in first.values() for case in group[:2]]
    odd = [case for case in CASES if case["input"].get("content_encoding") or case["input"].get("status", 200) != 200]
    fresh = [case for case in [*odd, *by_reads] if case not in picked]
    return (picked + fresh)[:10]


TEN = chosen()


@pytest.mark.parametrize("case", TEN, ids=[case["id"] for case in TEN])
async def test_a_stream_over_a_connection_is_read_as_without_one(
    case: dict[str, Any], connections: Connections
) -> None:
    given, expected = case["input"], {**case["expected"]}
    expected.pop("usage", None)

    async def answer(line: Line) -> None:
        headers = {"connection": "close", **given.get("headers", {})}
        if packed := given.get("content_encoding"):
            headers["content-encoding"] = packed
        head = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
        await line.send(f"HTTP/1.1 {given.get('status', 200)} X\r\n{head}\r\n".encode("latin-1"))
        for chunk in given["chunks_latin1"]:
            await line.send(chunk.encode("latin-1"))
        match given.get("end", "eof"):
            case "eof":
                line.close()
            case "reset":
                await asyncio.sleep(0.05)
                line.reset()
            case "stall":
                await line.until_gone()

    async with serving(answer) as server:
        name = "anthropic" if given["shape"] == "anthropic" else "custom"
        # A busy machine must not look like a server that stalls.
        waits = Timeouts(stall=2.0, ending=1.0)
        preset = msgspec.structs.replace(PRESETS[name], base_url=server.url, timeouts=waits)
        found = shown(await heard(HttpProvider(preset, connections, "sk-1")), None)
    assert {key: found[key] for key in expected} == with_ids(expected, found)


def test_ten_streams_go_over_connections() -> None:
    assert len(TEN) == min(10, len(CASES))
