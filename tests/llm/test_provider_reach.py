"""Addresses, proxies, certificates, and requests that are never sent."""

import asyncio
import ssl
from typing import Any

import pytest

from smith_server.core.ports import Failed
from smith_server.llm.http import Connections
from smith_server.llm.presets import PRESETS, Preset, preset
from smith_server.llm.provider import HttpProvider
from tests.llm.hearing import GREETED, custom, failed, greeting, heard, outcome
from tests.llm.server import serving


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


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/v1", "http://127.0.0.1:x/v1", "http://a b/v1", "http://..../v1"]
)
async def test_an_address_that_cannot_be_is_unreachable(url: str, connections: Connections) -> None:
    end = failed(await heard(HttpProvider(Preset("custom", url), connections)))
    assert end.error.code == "unreachable"


ENVIRONMENTS = {
    "HTTP_PROXY": ("nonsense://proxy", "NO_PROXY"),
    "ALL_PROXY": ("socks5://127.0.0.1:1", "NO_PROXY"),
    "SSL_CERT_FILE": ("/nowhere/ca.pem", "SSL_CERT_FILE"),
}


@pytest.mark.parametrize(("variable", "value", "named"), [(name, *rest) for name, rest in ENVIRONMENTS.items()])
async def test_an_environment_that_cannot_be_used_is_named(
    variable: str, value: str, named: str, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    end = failed(await heard(HttpProvider(Preset("custom", "https://model.test/v1"), connections)))
    assert end.error.code == "unreachable"
    assert named in end.error.message


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
