"""Providers over real sockets on loopback."""

import asyncio
import gzip
import json
import ssl
import time
from typing import Any

import msgspec
import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentFailure, Cancelled
from smith_server.core.interrupt import interrupted_by
from smith_server.core.messages import AssistantMessage, Call, Text, Usage, UserMessage
from smith_server.core.ports import Delta, Done, Failed, Request, TextDelta
from smith_server.llm.http import Connections
from smith_server.llm.presets import PRESETS, Preset, preset
from smith_server.llm.probe import answers
from smith_server.llm.provider import HttpProvider
from smith_server.llm.stall import Timeouts
from tests.llm.server import Answering, Line, Server, serving
from tests.llm.streams import DONE, calling, event, text

KEY = "sk-secret-0123456789"
REQUEST = Request("m", "Be brief.", (UserMessage("1", "Hi"),))
WHOLE = msgspec.structs.replace(REQUEST, stream=False)
SOON = 2.0
"""Seconds that stand for at once on a busy machine, far below any limit that could be meant."""


def custom(server: Server, **limits: float) -> Preset:
    return Preset("custom", server.url, "LLM_API_KEY", timeouts=Timeouts(**limits))


async def heard(provider: HttpProvider, request: Request = REQUEST, token: CancelToken | None = None) -> list[Delta]:
    return [delta async for delta in provider.stream(request, token or CancelToken())]


async def outcome(
    answering: Answering, connections: Connections, request: Request = REQUEST, **limits: float
) -> list[Delta]:
    """What a provider says when a server answers so."""
    async with serving(answering) as server:
        return await heard(HttpProvider(custom(server, **limits), connections, KEY), request)


def failed(deltas: list[Delta]) -> Failed:
    last = deltas[-1]
    assert isinstance(last, Failed), last
    return last


async def greeting(line: Line) -> None:
    await line.stream(text("He"), text("llo"), event(reason="stop"), DONE)


GREETED = Done((Text("Hello"),), "stop")


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
        for _ in range(8):
            await line.chunks(b": PROCESSING\n\n")
            await asyncio.sleep(0.1)
        await line.chunks(text("Hello"), event(reason="stop"), DONE)

    assert (await outcome(queued, connections, stall=0.5))[-1] == GREETED


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

    deltas = await outcome(no_marker, connections, ending=0.4)
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


async def test_nothing_that_answers_is_named_with_what_to_do(connections: Connections, closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/v1"
    end = failed(await heard(HttpProvider(Preset("custom", url), connections)))
    assert (end.error.code, end.error.retryable) == ("unreachable", True)
    assert end.error.message == f"Nothing answers at {url}: the connection was refused. Is the server running?"
    ollama = failed(await heard(HttpProvider(preset("ollama", {"OLLAMA_HOST": f":{closed_port}"}), connections)))
    assert "`ollama serve`" in ollama.error.message


async def test_a_server_without_tls_at_an_https_address_is_unreachable(connections: Connections) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 X\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        end = failed(await heard(HttpProvider(Preset("custom", f"https://127.0.0.1:{port}/v1"), connections)))
    assert end.error.code == "unreachable"


UNSENT: dict[str, tuple[Preset, str, str, str]] = {
    "no key": (PRESETS["openai"], "", "auth", "OPENAI_API_KEY"),
    "a key of two lines": (PRESETS["openai"], "sk-a\nb", "auth", "OPENAI_API_KEY"),
    "a key in quotes of a word processor": (PRESETS["openai"], "“sk-a”", "auth", "OPENAI_API_KEY"),
    "no address": (PRESETS["custom"], "", "bad_request", "llm_config.api_url"),
    "no scheme": (Preset("custom", "127.0.0.1:8080/v1"), "", "bad_request", "127.0.0.1:8080/v1"),
    "no host": (Preset("custom", "http:///v1"), "", "bad_request", "http:///v1"),
    "an odd header": (Preset("custom", "http://127.0.0.1/", headers={"X-A": "é"}), "", "auth", "'X-A'"),
}


@pytest.mark.parametrize(("source", "key", "code", "named"), UNSENT.values(), ids=UNSENT)
async def test_a_request_that_cannot_work_is_not_sent(
    source: Preset, key: str, code: str, named: str, connections: Connections
) -> None:
    (end,) = await heard(HttpProvider(source, connections, key))
    assert isinstance(end, Failed)
    assert (end.error.code, end.error.retryable) == (code, False)
    assert named in end.error.message
    assert not key or key not in repr(end)


async def test_an_unpaired_transcript_is_not_sent(connections: Connections) -> None:
    async with serving(greeting) as server:
        talk = (UserMessage("1", "Hi"), AssistantMessage("2", (Call("a", "f"),)))
        (end,) = await heard(HttpProvider(custom(server), connections), Request("m", "", talk))
    assert isinstance(end, Failed)
    assert (end.error.code, server.asked) == ("unpaired_calls", [])


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


async def test_a_cancel_from_around_the_stream_closes_the_connection_too(connections: Connections) -> None:
    async with serving(endless) as server:
        token, seen = CancelToken(), []
        with pytest.raises(Cancelled):
            async with interrupted_by(token):
                async for delta in HttpProvider(custom(server), connections).stream(REQUEST, CancelToken()):
                    seen.append(delta)
                    asyncio.get_running_loop().call_soon(token.request)
        await asyncio.wait_for(server.gone.wait(), SOON)
    assert seen == [TextDelta("Hel")]


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


async def test_a_proxy_is_used_but_never_for_this_machine(
    connections: Connections, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(greeting) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
        far = HttpProvider(Preset("custom", "http://model.test/v1"), connections)
        assert (await heard(far))[-1] == GREETED
        assert server.asked[0].line == "POST http://model.test/v1/chat/completions HTTP/1.1"
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port}")
        near = HttpProvider(custom(server), Connections())
        assert (await heard(near))[-1] == GREETED


async def test_a_plain_address_loads_no_certificates(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []
    monkeypatch.setattr(ssl, "create_default_context", lambda *args, **more: loaded.append(more))
    assert (await outcome(greeting, connections))[-1] == GREETED
    assert loaded == []


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
