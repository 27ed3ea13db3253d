"""The search services: what each is asked, and what its answers look like. Pure.

A new one is a class with these two methods.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct


class Ask(Struct, frozen=True):
    """An HTTP request; with a `body` it is a POST of JSON."""

    url: str
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Hit(Struct, frozen=True):
    """One result, its texts on one line each."""

    title: str
    url: str
    snippet: str


class Found(Struct, frozen=True):
    """What a service said: results, and an answer in words where it gives one."""

    hits: tuple[Hit, ...] = ()
    answer: str = ""


class Engine(Protocol):
    """One search service."""

    @property
    def name(self) -> str:
        """By which the settings call it."""
        ...

    @property
    def missing(self) -> str:
        """The variable that should hold its key and does not; "" where nothing is missing."""
        ...

    def ask(self, query: str, domains: Sequence[str], most: int) -> Ask:
        """The request for `most` results at most, from these `domains` alone if there are any."""
        ...

    def read(self, answer: Any) -> Found:
        """What `answer`, decoded JSON of any shape, holds."""
        ...


class _Keyed(Struct, frozen=True):
    """A service that wants a `key`, by custom in the variable `key_variable`."""

    key: str = ""
    key_variable: str = ""

    @property
    def missing(self) -> str:
        return "" if self.key else self.key_variable


class Linkup(_Keyed, frozen=True):
    """Linkup. `output_type` is `searchResults`, `sourcedAnswer` or `structured`."""

    key_variable: str = "LINKUP_API_KEY"
    address: str = "https://api.linkup.so/v1/search"
    depth: str = "standard"
    output_type: str = "searchResults"
    name: str = "linkup"

    def ask(self, query: str, domains: Sequence[str], most: int) -> Ask:
        wish: dict[str, Any] = {"q": query, "depth": self.depth, "outputType": self.output_type, "maxResults": most}
        if domains:
            wish["includeDomains"] = list(domains)
        return Ask(self.address, {"Authorization": f"Bearer {self.key}"}, msgspec.json.encode(wish))

    def read(self, answer: Any) -> Found:
        if self.output_type == "structured":
            return Found(answer=msgspec.json.encode(answer).decode())
        hits = (*_hits(_at(answer, "results"), "name", "content"), *_hits(_at(answer, "sources"), "name", "snippet"))
        return Found(hits, _word(_at(answer, "answer"), 8000))


class Brave(_Keyed, frozen=True):
    """Brave Search."""

    key_variable: str = "BRAVE_API_KEY"
    address: str = "https://api.search.brave.com/res/v1/web/search"
    name: str = "brave"

    def ask(self, query: str, domains: Sequence[str], most: int) -> Ask:
        wish = urlencode({"q": _within(query, domains), "count": min(most, 20)})
        return Ask(f"{self.address}?{wish}", {"X-Subscription-Token": self.key})

    def read(self, answer: Any) -> Found:
        return Found(_hits(_at(answer, "web", "results"), "title", "description"))


class Tavily(_Keyed, frozen=True):
    """Tavily."""

    key_variable: str = "TAVILY_API_KEY"
    address: str = "https://api.tavily.com/search"
    name: str = "tavily"

    def ask(self, query: str, domains: Sequence[str], most: int) -> Ask:
        wish = {"api_key": self.key, "query": query, "max_results": most, "include_domains": list(domains)}
        return Ask(self.address, {"Authorization": f"Bearer {self.key}"}, msgspec.json.encode(wish))

    def read(self, answer: Any) -> Found:
        return Found(_hits(_at(answer, "results"), "title", "content"))


class SearXNG(Struct, frozen=True):
    """A SearXNG server at `address`, which has to offer JSON; it needs no key."""

    address: str = "http://localhost:8888"
    name: str = "searxng"
    missing: str = ""

    def ask(self, query: str, domains: Sequence[str], most: int) -> Ask:
        wish = urlencode({"q": _within(query, domains), "format": "json"})
        return Ask(f"{self.address.rstrip('/')}/search?{wish}")

    def read(self, answer: Any) -> Found:
        return Found(_hits(_at(answer, "results"), "title", "content"))


def is_within(url: str, domains: Sequence[str]) -> bool:
    """Whether the host of `url` is one of `domains` or below one, whole labels compared, letter case aside."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    return any(host == domain or host.endswith(f".{domain}") for domain in map(_domain, domains))


def _domain(text: str) -> str:
    """A domain as people write it: with a scheme, a star, a path, a dot too many."""
    return text.strip().lower().partition("://")[2 if "://" in text else 0].partition("/")[0].strip("*.")


def _within(query: str, domains: Sequence[str]) -> str:
    sites = " OR ".join(f"site:{_domain(domain)}" for domain in domains)
    return f"{query} ({sites})" if len(domains) > 1 else f"{query} {sites}".rstrip()


def _at(node: Any, *names: str) -> Any:
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node


def _hits(entries: Any, title: str, snippet: str) -> tuple[Hit, ...]:
    """The entries that lead somewhere."""
    if not isinstance(entries, list):
        return ()
    found = (Hit(_word(_at(each, title), 200), _word(_at(each, "url"), 2000), _word(_at(each, snippet), 500))
             for each in entries)  # fmt: skip
    return tuple(hit for hit in found if hit.url.startswith(("http://", "https://")))


def _word(value: Any, most: int) -> str:
    line = " ".join(value.split()) if isinstance(value, str) else ""
    return line if len(line) <= most else f"{line[: most - 1]}…"
