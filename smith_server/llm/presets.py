"""The providers that are known by name, as data, and how an address is read."""

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import Struct

from smith_server.core.errors import failure
from smith_server.llm import compat
from smith_server.llm.compat import Compat
from smith_server.llm.stall import Timeouts


class ThinkingEffort(Struct, frozen=True):
    """The model thinks as long as it sees fit, at this effort."""

    effort: str


class ThinkingBudget(Struct, frozen=True):
    """The model thinks for so many tokens at most; for models of before efforts."""

    budget: int


class Preset(Struct, frozen=True):
    """Everything about a provider but its key.

    `base_url` is what the paths of the dialect are appended to. `issuer` marks what only this
    provider wants back. `needs_key`: a request without a key is not worth sending to its own
    address. `ca_bundle` is a PEM file that replaces the default certificates. `effort` and
    `thinking` ask for reasoning, each in its dialect. `cache`: the provider may keep the beginning
    of a conversation. `images`: its models take pictures. `compact`: they are so small that they get
    a short prompt and few tools.
    """

    name: str
    base_url: str = ""
    key_variable: str = ""
    default_model: str = ""
    needs_key: bool = False
    dialect: Literal["openai", "anthropic"] = "openai"
    compat: Compat = Compat()
    headers: Mapping[str, str] = MappingProxyType({})
    timeouts: Timeouts = Timeouts()
    effort: str = ""
    thinking: ThinkingEffort | ThinkingBudget | None = None
    cache: bool = True
    images: bool = True
    compact: bool = False
    ca_bundle: str = ""

    def marks_cache(self, model: str) -> bool:
        """Whether a model of the OpenAI dialect is told what to keep."""
        return self.cache and model.startswith(self.compat.marks_cache)

    @property
    def issuer(self) -> str:
        """The provider's name; one at an address of one's own is told apart by its host."""
        return f"custom@{host_of(self.base_url)}" if self.name == "custom" else self.name


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "openai": Preset(
            "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.6-luna", True, compat=compat.OPENAI
        ),
        "openrouter": Preset(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            "qwen/qwen3.8-max",
            True,
            compat=compat.OPENROUTER,
            headers=MappingProxyType({"X-Title": "smith"}),
        ),
        "anthropic": Preset(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            "claude-sonnet-5",
            True,
            dialect="anthropic",
            headers=MappingProxyType({"anthropic-version": "2023-06-01"}),
        ),
        "ollama": Preset("ollama", "http://127.0.0.1:11434/v1", "", "gemma4:latest", compat=compat.OLLAMA),
        "local": Preset("local", default_model="gemma-3-270m", images=False, compact=True),
        "custom": Preset("custom", "", "LLM_API_KEY"),
    }
)


def preset(name: str, environ: Mapping[str, str], base_url: str = "") -> Preset:
    """The preset `name`, at `base_url` when that is given; an Ollama else where `OLLAMA_HOST` says.

    Raises `AgentFailure` (`schema`, `unknown_provider`) for a name that is not known.
    """
    found = PRESETS.get(name)
    if found is None:
        raise failure(
            "schema", "unknown_provider", f"There is no provider {name!r}. Choose one of: {', '.join(PRESETS)}."
        )
    if not base_url and name == "ollama":
        base_url = ollama_url(environ.get("OLLAMA_HOST", "")) + "/v1"
    return msgspec.structs.replace(found, base_url=tidy_url(base_url)) if base_url else found


def tidy_url(url: str) -> str:
    """A base address without what people paste behind it: blanks, slashes, the path of the endpoint."""
    plain = url.strip().rstrip("/")
    for path in ("/chat/completions", "/messages"):
        plain = plain.removesuffix(path).rstrip("/")
    return plain


def ollama_url(host: str) -> str:
    """`OLLAMA_HOST` in any form that Ollama takes, as an address to connect to, without a slash at its end.

    Every part may be missing. An address that means all interfaces becomes loopback.
    """
    host = host.strip().strip("\"'").strip()
    scheme, found, rest = host.partition("://")
    if not found:
        scheme, rest = "http", host
    place, slash, path = rest.partition("/")
    default = {"http": "80", "https": "443"}.get(scheme, "11434") if found else "11434"
    name, port = _split_port(place, default)
    return f"{scheme}://{_reachable(name)}:{port}{slash}{path}".rstrip("/")


@lru_cache(maxsize=64)
def host_of(url: str) -> str:
    """The host of an address, without user, port and path; "" when it has none."""
    place = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return _split_port(place, "")[0].lower()


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine by name or by address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _split_port(place: str, default: str) -> tuple[str, str]:
    """Host without brackets, and a port that is one."""
    bracketed, _, behind = place.partition("]")
    if place.startswith("["):
        host, port = bracketed[1:], behind.removeprefix(":")
    elif _address(place) is not None:
        host, port = place, ""
    else:
        host, _, port = place.partition(":")
    valid = port.isascii() and port.isdigit() and int(port) <= 65535
    return host, port if valid else default


def _reachable(host: str) -> str:
    address = _address(host)
    if address is None:
        return host or "127.0.0.1"
    if address.version == 4:
        return "127.0.0.1" if address.is_unspecified else str(address)
    return "[::1]" if address.is_unspecified else f"[{address}]"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
