"""A real model served by llama.cpp: what no written server can show."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Cancelled
from smith_server.core.messages import Text, ToolSpec, UserMessage
from smith_server.core.ports import Done, Request, TextDelta
from smith_server.llm.http import Connections
from smith_server.llm.local import LocalModel, Served
from smith_server.llm.presets import PRESETS, Preset
from smith_server.llm.provider import HttpProvider
from tests.e2e.command import ended, start
from tests.e2e.world import World
from tests.model.conftest import SEARCHED, WEIGHTS

pytestmark = [
    pytest.mark.model,
    pytest.mark.serial,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="session"),
]
SECONDS = 300.0
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
REQUEST = Request("gemma", "Be brief.", (UserMessage("1", "Tell me about the sea."),), (), 12)


def at(served: Served, name: str) -> Preset:
    return msgspec.structs.replace(PRESETS[name], base_url=served.base_url)


async def asked(served: Served, path: str) -> Any:
    """What the server tells of itself."""
    connections = Connections()
    headers = {"Authorization": f"Bearer {served.key}"}
    preset = Preset("custom", served.base_url.removesuffix("/v1"))
    response = await connections.send(preset, "GET", path, headers)
    body = b""
    while chunk := await response.read():
        body += chunk
    await connections.close()
    return json.loads(body)


@pytest.mark.parametrize("name", ["local", "anthropic"])
async def test_an_answer_comes_in_pieces_with_its_usage(name: str, served: Served) -> None:
    connections = Connections()
    provider = HttpProvider(at(served, name), connections, served.key)
    *deltas, end = [delta async for delta in provider.stream(REQUEST, CancelToken())]
    await connections.close()
    assert isinstance(end, Done), end
    assert len(deltas) > 1
    assert end.parts == (Text("".join(each.text for each in deltas if isinstance(each, TextDelta))),)
    assert end.usage is not None
    assert 0 < end.usage.output <= 12
    assert end.usage.context > 5


async def test_a_cancel_stops_the_generation(served: Served) -> None:
    connections, token = Connections(), CancelToken()
    provider = HttpProvider(at(served, "local"), connections, served.key)
    stream = provider.stream(msgspec.structs.replace(REQUEST, max_output_tokens=4000), token)
    await anext(stream)
    began = time.monotonic()
    token.request()
    with pytest.raises(Cancelled):
        await anext(stream)
    assert time.monotonic() - began < 1.0
    await connections.close()
    deadline = time.monotonic() + SECONDS
    while any(slot["is_processing"] for slot in await asked(served, "/slots")):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_a_key_is_wanted(served: Served) -> None:
    connections = Connections()
    provider = HttpProvider(at(served, "local"), connections, "another")
    (end,) = [delta async for delta in provider.stream(REQUEST, CancelToken())]
    await connections.close()
    assert end.error.code == "auth"  # type: ignore[union-attr]


async def test_tools_do_no_harm(served: Served) -> None:
    connections = Connections()
    provider = HttpProvider(at(served, "local"), connections, served.key)
    request = msgspec.structs.replace(REQUEST, tools=(ToolSpec("read", "Read a text file.", SCHEMA),))
    *_, end = [delta async for delta in provider.stream(request, CancelToken())]
    await connections.close()
    assert isinstance(end, Done), end


async def test_the_program_answers_with_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.environ["PYTHONPATH"] = SEARCHED
    world.settings("[providers.local]\nmax_output_tokens = 12\n")
    cache = world.home / "smith" / "cache"
    cache.mkdir(parents=True)
    os.link(await made(), cache / WEIGHTS.name)
    process = await start(world, "run", "-p", "local", "--json", "hello", stdin=asyncio.subprocess.DEVNULL)
    done = await ended(process, SECONDS)
    assert done.only("assistant_text_delta"), done
    (result,) = done.only("result")
    assert result["usage"]["completion_tokens"] > 0
    assert result["usage"]["prompt_tokens"] < 500
    assert not [pid for pid in Path("/proc").glob("[0-9]*") if str(cache) in commands(pid)]


async def made() -> Path:
    """The weights, put together."""
    if not WEIGHTS.exists():
        model = LocalModel(WEIGHTS, {**os.environ, "PYTHONPATH": SEARCHED})
        await model.served()
        await model.close()
    return WEIGHTS


def commands(pid: Path) -> str:
    try:
        return (pid / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
