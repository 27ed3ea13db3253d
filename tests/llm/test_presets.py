"""Presets, and the address of an Ollama."""

import pytest

from smith_server.core.errors import AgentFailure
from smith_server.llm.presets import PRESETS, Preset, host_of, is_loopback, ollama_url, preset, tidy_url

HOSTS = {
    "": "http://127.0.0.1:11434",
    "  ": "http://127.0.0.1:11434",
    "1.2.3.4": "http://1.2.3.4:11434",
    "1.2.3.4:5678": "http://1.2.3.4:5678",
    ":5678": "http://127.0.0.1:5678",
    "box": "http://box:11434",
    "box:1": "http://box:1",
    "box/": "http://box:11434",
    "box:5678/": "http://box:5678",
    "http://box": "http://box:80",
    "http://box:5678/": "http://box:5678",
    "https://box": "https://box:443",
    "https://box:5678/behind/proxy/": "https://box:5678/behind/proxy",
    "0.0.0.0": "http://127.0.0.1:11434",
    "0.0.0.0:5678": "http://127.0.0.1:5678",
    "http://0.0.0.0:5678": "http://127.0.0.1:5678",
    "::1": "http://[::1]:11434",
    "[::1]": "http://[::1]:11434",
    "[::1]:5678": "http://[::1]:5678",
    "[::]:5678": "http://[::1]:5678",
    "http://[fe80::2]:5678/": "http://[fe80::2]:5678",
    "box:66000": "http://box:11434",
    "box:port": "http://box:11434",
    "https://box:-1": "https://box:443",
    "'box:5678'": "http://box:5678",
    '"http://box:5678"': "http://box:5678",
}


@pytest.mark.parametrize(("host", "url"), HOSTS.items(), ids=[repr(host) for host in HOSTS])
def test_the_address_of_an_ollama_is_read_in_every_form(host: str, url: str) -> None:
    assert ollama_url(host) == url


def test_an_ollama_is_looked_for_where_the_variable_says() -> None:
    assert preset("ollama", {"OLLAMA_HOST": "box"}).base_url == "http://box:11434/v1"
    assert preset("ollama", {}).base_url == "http://127.0.0.1:11434/v1"
    assert preset("ollama", {"OLLAMA_HOST": "box"}, "http://other/v1/").base_url == "http://other/v1"


def test_a_preset_stays_as_it_is_without_another_address() -> None:
    assert preset("openrouter", {}) is PRESETS["openrouter"]


def test_an_unknown_provider_is_answered_with_those_there_are() -> None:
    with pytest.raises(AgentFailure) as caught:
        preset("opnai", {})
    assert (caught.value.error.kind, caught.value.error.code) == ("schema", "unknown_provider")
    assert "openrouter" in caught.value.error.message


PASTED = [
    "http://box:8080/v1",
    " http://box:8080/v1/ ",
    "http://box:8080/v1/chat/completions",
    "http://box:8080/v1/chat/completions/",
]


@pytest.mark.parametrize("url", PASTED)
def test_an_address_is_tidied(url: str) -> None:
    assert tidy_url(url) == "http://box:8080/v1"


def test_the_issuer_of_a_custom_provider_is_its_host() -> None:
    first = Preset("custom", "https://user:word@API.one.test:8443/v1")
    assert first.issuer == "custom@api.one.test"
    assert Preset("custom", "https://two.test/v1").issuer != first.issuer
    assert Preset("openai", "https://two.test/v1").issuer == "openai"


def test_hosts_of_this_machine_are_known() -> None:
    here = ["http://localhost:1/v1", "http://127.0.0.1/", "http://127.9.9.9", "http://[::1]:80/x", "http://a.localhost"]
    there = ["http://127.0.0.1.example.test", "http://10.0.0.1", "http://[fe80::1]", "https://example.test"]
    assert [is_loopback(host_of(url)) for url in here] == [True] * 5
    assert [is_loopback(host_of(url)) for url in there] == [False] * 4
