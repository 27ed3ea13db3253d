"""Providers over real sockets on loopback."""

import asyncio
import json

import msgspec
import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentFailure
from smith_server.core.messages import Call, Text, Usage
from smith_server.core.ports import Done, TextDelta
from smith_server.llm.http import Connections
from smith_server.llm.presets import PRESETS, Preset
from smith_server.llm.probe import answers
from smith_server.llm.provider import HttpProvider
from tests.llm.hearing import GREETED, KEY, REQUEST, SOON, WHOLE, custom, greeting, heard, outcome
from tests.llm.server import Line, serving
from tests.llm.streams import DONE, calling, event, text


async def test_a_streamed_answer_is_told_as_it_comes(connections: Connections) -> None:
    go_on = asyncio.Event()

    async def slowly(line: Line) -> None:
        await line.head()
        await line.chunks(text("He"))
        await go_on.wait()
        await line.chunks(text("llo"), event(reason="stop"), DONE)
        await line.end()

    async with serving(slowly) as server:
        stream = HttpProvider(custom(server), connections).stream(REQUEST, CancelToken())
        assert await anext(stream) == TextDelta("He")
        go_on.set()
        assert [delta async for delta in stream][-1] == GREETED


async def test_the_request_is_what_the_preset_says(connections: Connections) -> None:
    async with serving(greeting) as server:
        source = msgspec.structs.replace(PRESETS["openrouter"], base_url=server.url)
        await heard(HttpProvider(source, connections, f" {KEY}\n"))
    (asked,) = server.asked
    assert asked.line == "POST /v1/chat/completions HTTP/1.1"
    names = ("authorization", "accept", "accept-encoding", "content-type", "x-title")
    assert [asked.headers[name] for name in names] == [
        f"Bearer {KEY}",
        "text/event-stream",
        "identity",
        "application/json",
        "smith",
    ]
    assert asked.json["messages"][0] == {"role": "system", "content": "Be brief."}


async def test_without_a_key_nothing_is_said_of_one(connections: Connections) -> None:
    async with serving(greeting) as server:
        await heard(HttpProvider(custom(server), connections))
    assert "authorization" not in server.asked[0].headers


async def test_an_answer_that_is_not_streamed_gives_the_same(connections: Connections) -> None:
    message = {
        "content": "Hello",
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"p":1}'}}],
    }
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    pieces = [text("Hel") + text("lo"), calling(index=0, id="a", name="f", arguments='{"p":1}')]

    async def whole(line: Line) -> None:
        await line.reply(200, json.dumps(body).encode(), content_type="application/json")

    async def streamed(line: Line) -> None:
        await line.stream(b"".join(pieces) + event(reason="tool_calls", usage={"prompt_tokens": 3}) + DONE)

    at_once = await outcome(whole, connections, WHOLE)
    assert at_once == await outcome(streamed, connections)
    assert at_once == [TextDelta("Hello"), Done((Text("Hello"), Call("a", "f", '{"p":1}')), "tool_use", Usage(input=3))]


async def test_one_connection_serves_one_request_after_the_other(connections: Connections) -> None:
    async def late_end(line: Line) -> None:
        await line.head()
        await line.chunks(text("Hello"), event(reason="stop"), DONE)
        await asyncio.sleep(0.02)
        await line.end()

    async with serving(late_end) as server:
        provider = HttpProvider(custom(server), connections)
        for number in range(3):
            assert (await heard(provider))[-1] == GREETED
            await connections.settle()
            assert len(server.asked) == number + 1
        assert server.connections == 1


async def test_requests_side_by_side_do_not_wait_for_each_other(connections: Connections) -> None:
    both = asyncio.Barrier(2)

    async def together(line: Line) -> None:
        await both.wait()
        await greeting(line)

    async with serving(together) as server:
        provider = HttpProvider(custom(server), connections)
        ends = await asyncio.gather(heard(provider), heard(provider))
    assert [end[-1] for end in ends] == [GREETED, GREETED]


async def test_warming_opens_the_connection_that_the_first_prompt_uses(connections: Connections) -> None:
    async def nothing(line: Line) -> None:
        await line.send(b"HTTP/1.1 404 X\r\ncontent-length: 9\r\n\r\n")

    async with serving(nothing, greeting) as server:
        provider = HttpProvider(custom(server), connections)
        await provider.warm()
        assert (await heard(provider))[-1] == GREETED
        assert (server.connections, server.asked[0].line) == (1, "HEAD /v1/models HTTP/1.1")


async def test_warming_in_vain_is_no_matter(connections: Connections, closed_port: int) -> None:
    await HttpProvider(Preset("custom", f"http://127.0.0.1:{closed_port}/v1"), connections).warm()
    await HttpProvider(Preset("custom", "nonsense"), connections).warm()


async def test_the_models_of_a_server_are_listed(connections: Connections) -> None:
    async def listing(line: Line) -> None:
        await line.reply(
            200, b'{"data": [{"id": "b"}, {"id": "a"}, {"name": "x"}, 3]}', content_type="application/json"
        )

    async with serving(listing) as server:
        assert await HttpProvider(custom(server), connections).models() == ("b", "a")


LISTS: dict[str, tuple[int, bytes, str]] = {
    "refused": (401, b"{}", "auth"),
    "a page": (200, b"<html>", "protocol_error"),
    "no list": (200, b'{"data": 3}', "protocol_error"),
}


@pytest.mark.parametrize(("status", "body", "code"), LISTS.values(), ids=LISTS)
async def test_a_list_that_cannot_be_had_is_an_error(
    status: int, body: bytes, code: str, connections: Connections
) -> None:
    async def listing(line: Line) -> None:
        await line.reply(status, body)

    async with serving(listing) as server:
        with pytest.raises(AgentFailure) as caught:
            await HttpProvider(custom(server), connections, KEY).models()
    assert caught.value.error.code == code


async def test_an_ollama_is_known_by_its_answer(closed_port: int) -> None:
    async def version(line: Line) -> None:
        await line.reply(200, b'{"version":"0.9.0"}')
        line.close()

    async def other(line: Line) -> None:
        await line.reply(404, b'{"version":"0.9.0"}')
        line.close()

    for answering, known in ((version, True), (other, False), (Line.until_gone, False)):
        async with serving(answering) as server:
            assert await answers(f"http://127.0.0.1:{server.port}", timeout=SOON if known else 0.1) is known
            assert server.asked[0].line == "GET /api/version HTTP/1.0"
    assert await answers(f"http://127.0.0.1:{closed_port}") is False
    assert await answers("nonsense") is False
