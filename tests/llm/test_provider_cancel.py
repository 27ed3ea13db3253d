"""Cancelled answers over real sockets."""

import asyncio
import time
from typing import Any

import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Cancelled
from smith_server.core.interrupt import interrupted_by
from smith_server.core.ports import Delta, TextDelta
from smith_server.llm.http import Connections
from smith_server.llm.provider import HttpProvider
from tests.llm.hearing import GREETED, REQUEST, SOON, custom, greeting, heard
from tests.llm.server import Line, serving
from tests.llm.streams import text


async def endless(line: Line) -> None:
    await line.head()
    await line.chunks(text("Hel"))
    await line.until_gone()


async def cancelled_after_first(provider: HttpProvider, token: CancelToken) -> list[Delta]:
    seen: list[Delta] = []
    with pytest.raises(Cancelled):
        async for delta in provider.stream(REQUEST, token):
            seen.append(delta)
            asyncio.get_running_loop().call_later(0.01, token.request)
    return seen


async def test_a_cancel_ends_the_stream_at_once_and_the_server_sees_it(connections: Connections) -> None:
    async with serving(endless) as server:
        token, provider = CancelToken(), HttpProvider(custom(server), connections)
        began = time.monotonic()
        assert await cancelled_after_first(provider, token) == [TextDelta("Hel")]
        await asyncio.wait_for(server.gone.wait(), SOON)
        assert server.gone_at - began < SOON


async def test_a_cancel_while_the_headers_are_awaited_closes_the_connection(connections: Connections) -> None:
    async with serving(Line.until_gone) as server:
        token = CancelToken()
        running = asyncio.create_task(heard(HttpProvider(custom(server), connections), token=token))
        await asyncio.wait_for(server.arrived.wait(), SOON)
        token.request()
        with pytest.raises(Cancelled):
            await running
        await asyncio.wait_for(server.gone.wait(), SOON)


@pytest.mark.parametrize("shared", [True, False], ids=["the stream knows the token", "it does not"])
async def test_a_cancel_from_around_the_stream_closes_the_connection_too(
    shared: bool, connections: Connections
) -> None:
    async with serving(endless) as server:
        token, seen = CancelToken(), []
        inner = token if shared else CancelToken()
        with pytest.raises(Cancelled):
            async with interrupted_by(token):
                async for delta in HttpProvider(custom(server), connections).stream(REQUEST, inner):
                    seen.append(delta)
                    asyncio.get_running_loop().call_soon(token.request)
        await asyncio.wait_for(server.gone.wait(), SOON)
    assert seen == [TextDelta("Hel")]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancelled_task_stays_cancelled(connections: Connections) -> None:
    async with serving(endless) as server:
        running = asyncio.create_task(heard(HttpProvider(custom(server), connections)))
        await asyncio.wait_for(server.arrived.wait(), SOON)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(server.gone.wait(), SOON)


async def test_a_stream_that_nobody_wants_to_hear_to_its_end_is_closed(connections: Connections) -> None:
    async with serving(endless) as server:
        stream: Any = HttpProvider(custom(server), connections).stream(REQUEST, CancelToken())
        assert await anext(stream) == TextDelta("Hel")
        await stream.aclose()
        await asyncio.wait_for(server.gone.wait(), SOON)


async def test_after_a_cancel_nothing_is_sent(connections: Connections) -> None:
    async with serving(greeting) as server:
        token = CancelToken()
        token.request()
        with pytest.raises(Cancelled):
            await heard(HttpProvider(custom(server), connections), token=token)
        assert server.connections == 0


async def test_the_next_request_after_a_cancel_works(connections: Connections) -> None:
    async with serving(endless, greeting) as server:
        provider = HttpProvider(custom(server), connections)
        await cancelled_after_first(provider, CancelToken())
        assert (await heard(provider))[-1] == GREETED
