"""Answers that break off, stall, refuse or are none."""

import asyncio
import gzip

import pytest

from smith_server.core.messages import Text, Usage
from smith_server.core.ports import Done, TextDelta
from smith_server.llm.http import Connections
from smith_server.llm.provider import HttpProvider
from tests.llm.hearing import GREETED, KEY, SOON, WHOLE, custom, failed, heard, outcome
from tests.llm.server import Answering, Line, serving
from tests.llm.streams import DONE, event, text


async def cut(line: Line) -> None:
    await line.head()
    await line.chunks(text("Hel"))
    line.close()


async def reset(line: Line) -> None:
    await line.head()
    await line.chunks(text("Hel"))
    await asyncio.sleep(0.05)
    line.reset()


async def closed_in_order(line: Line) -> None:
    await line.stream(text("Hel"))


@pytest.mark.parametrize("ending", [cut, reset, closed_in_order])
async def test_an_answer_that_breaks_off_is_an_error_and_keeps_its_text(
    ending: Answering, connections: Connections
) -> None:
    deltas = await outcome(ending, connections)
    assert deltas[0] == TextDelta("Hel")
    end = failed(deltas)
    assert (end.error.code, end.error.retryable, end.parts) == ("stream_truncated", False, (Text("Hel"),))


async def test_a_connection_lost_before_any_answer_may_be_tried_again(connections: Connections) -> None:
    async def hang_up(line: Line) -> None:
        line.reset()

    end = failed(await outcome(hang_up, connections))
    assert (end.error.code, end.error.retryable) == ("stream_truncated", True)


async def test_a_reset_after_the_reason_takes_nothing_back(connections: Connections) -> None:
    async def late_reset(line: Line) -> None:
        await line.head()
        await line.chunks(text("Hello"), event(reason="stop"))
        await asyncio.sleep(0.05)
        line.reset()

    assert (await outcome(late_reset, connections))[-1] == GREETED


async def test_silence_ends_at_the_limit_and_closes_the_connection(connections: Connections) -> None:
    async def silent(line: Line) -> None:
        await line.head()
        await line.chunks(text("Hel"))
        await line.until_gone()

    async with serving(silent) as server:
        end = failed(await heard(HttpProvider(custom(server, stall=0.2), connections)))
        await asyncio.wait_for(server.gone.wait(), SOON)
    assert (end.error.code, end.parts) == ("stall_timeout", (Text("Hel"),))


async def test_silence_before_the_headers_counts_too(connections: Connections) -> None:
    end = failed(await outcome(Line.until_gone, connections, stall=0.1))
    assert (end.error.code, end.error.retryable) == ("stall_timeout", True)


async def test_comments_prolong_the_wait_for_the_first_event(connections: Connections) -> None:
    async def queued(line: Line) -> None:
        await line.head()
        for _ in range(12):
            await line.chunks(b": PROCESSING\n\n")
            await asyncio.sleep(0.1)
        await line.chunks(text("Hello"), event(reason="stop"), DONE)

    assert (await outcome(queued, connections, stall=1.0))[-1] == GREETED


async def test_comments_after_the_first_event_prolong_nothing(connections: Connections) -> None:
    async def pretending(line: Line) -> None:
        await line.head()
        await line.chunks(text("Hel"))
        while True:
            await line.chunks(b": still here\n\n")
            await asyncio.sleep(0.02)

    assert failed(await outcome(pretending, connections, stall=0.3)).error.code == "stall_timeout"


async def test_a_socket_left_open_after_the_end_marker_delays_nothing(connections: Connections) -> None:
    async def left_open(line: Line) -> None:
        await line.head()
        await line.chunks(text("Hello"), event(reason="stop"), DONE)
        await line.until_gone()

    assert (await asyncio.wait_for(outcome(left_open, connections), SOON))[-1] == GREETED


async def test_after_the_reason_the_usage_is_waited_for_but_not_long(connections: Connections) -> None:
    async def no_marker(line: Line) -> None:
        await line.head()
        await line.chunks(text("Hello"), event(reason="stop"))
        await asyncio.sleep(0.05)
        await line.chunks(b'data: {"choices":[],"usage":{"prompt_tokens":3}}\n\n')
        await line.until_gone()

    deltas = await outcome(no_marker, connections, ending=1.0)
    assert deltas[-1] == Done((Text("Hello"),), "stop", Usage(input=3))


async def test_an_answer_that_is_not_streamed_has_one_limit_for_all_of_it(connections: Connections) -> None:
    end = failed(await outcome(Line.until_gone, connections, WHOLE, stall=300, whole=0.1))
    assert end.error.code == "stall_timeout"


REFUSALS: dict[str, tuple[int, bytes, dict[str, str], str, float | None]] = {
    "a wrong key": (401, b'{"error": {"message": "no such key: ' + KEY.encode() + b'"}}', {}, "auth", None),
    "too many requests": (429, b'{"error": {"message": "slow"}}', {"retry_after": "7"}, "rate_limited", 7),
    "a gateway's page": (
        502,
        b"<html><h1>Bad gateway</h1></html>",
        {"content_type": "text/html"},
        "provider_error",
        None,
    ),
    "a redirect": (307, b"", {"location": "https://elsewhere.test/"}, "provider_error", None),
    "a packed text": (503, gzip.compress(b'{"error": "busy"}'), {"content_encoding": "gzip"}, "overloaded", None),
}


@pytest.mark.parametrize(("status", "body", "headers", "code", "wait"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_told_with_its_reason(
    status: int, body: bytes, headers: dict[str, str], code: str, wait: float | None, connections: Connections
) -> None:
    async def refuse(line: Line) -> None:
        await line.reply(status, body, **headers)

    end = failed(await outcome(refuse, connections))
    assert (end.error.code, end.retry_after, end.error.data["status"]) == (code, wait, status)
    assert KEY not in repr(end)


async def test_an_endless_refusal_is_read_in_part(connections: Connections) -> None:
    async def endless(line: Line) -> None:
        await line.head(500)
        while True:
            await line.chunks(b"x" * 1024)

    assert failed(await asyncio.wait_for(outcome(endless, connections), SOON)).error.code == "provider_error"


async def test_a_refusal_whose_text_does_not_come_is_not_waited_for(connections: Connections) -> None:
    async def never(line: Line) -> None:
        await line.head(429, 100, retry_after="3")
        await line.until_gone()

    end = failed(await outcome(never, connections, error_body=0.05))
    assert (end.error.code, end.retry_after) == ("rate_limited", 3)


async def test_a_web_page_with_a_good_status_is_no_answer(connections: Connections) -> None:
    async def page(line: Line) -> None:
        await line.reply(200, b"<html>Please log in</html>", content_type="text/html")

    end = failed(await outcome(page, connections))
    assert end.error.code == "stream_truncated"
    assert "web page" in end.error.message


async def test_a_packed_stream_is_unpacked(connections: Connections) -> None:
    async def packed(line: Line) -> None:
        body = gzip.compress(text("Hello") + event(reason="stop") + DONE)
        await line.head(content_encoding="gzip")
        await line.chunks(body[:30], body[30:])
        await line.end()

    assert (await outcome(packed, connections))[-1] == GREETED


@pytest.mark.parametrize("encoding", ["gzip", "br"])
async def test_a_damaged_or_unknown_packing_ends_like_a_reset(encoding: str, connections: Connections) -> None:
    async def damaged(line: Line) -> None:
        await line.head(content_encoding=encoding)
        await line.chunks(text("Hello"))
        await line.until_gone()

    end = failed(await asyncio.wait_for(outcome(damaged, connections), SOON))
    assert (end.error.code, end.error.retryable) == ("stream_truncated", True)
