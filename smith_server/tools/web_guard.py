"""The way of a fetch: every address is checked before anything is asked of it, and then it is the one that is asked.

Names are looked up once; a redirect begins again from the start, and never leads to another host.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol
from urllib.parse import urljoin

from msgspec import Struct, structs

from smith_server.core.errors import ToolRefusal
from smith_server.tools.web_address import Target, check_address, check_characters, check_name, literal, parse_url

MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STANDARD_PORT = 80

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a name; empty when there is none."""


class Reply(Protocol):
    """A response whose headers are here; names in lower case. `chunks` gives the body as it comes from the wire."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]: ...


class Ask(Protocol):
    """Asks for `target` at one of `addresses` and at no other; raises `ToolRefusal` when that fails."""

    def __call__(self, target: Target, addresses: Sequence[str]) -> AbstractAsyncContextManager[Reply]: ...


class Elsewhere(Struct, frozen=True):
    """The answer was a redirect to another host, which nobody was asked about."""

    url: str


class Page(Struct, frozen=True):
    """An answer, and what it is an answer of."""

    target: Target
    reply: Reply


async def look_up(host: str) -> Sequence[str]:
    """Ask the system, on a thread that nobody has to wait for when the process ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Sequence[str]] = loop.create_future()

    def settle(found: Sequence[str]) -> None:
        if not answer.done():
            answer.set_result(found)

    def ask() -> None:
        found = _addresses(host)
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=ask, name=f"look up {host}", daemon=True).start()
    return await answer


def _addresses(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Opens pages through `ask`. Without `allow_private` plain http becomes https."""

    def __init__(self, ask: Ask, resolve: Resolve = look_up, *, allow_private: bool = False) -> None:
        self._ask = ask
        self._resolve = resolve
        self._allow_private = allow_private

    @asynccontextmanager
    async def open(self, url: str) -> AsyncIterator[Page | Elsewhere]:
        """The page at `url`, redirects within its host followed.

        Raises `bad_url`, `forbidden_host`, `forbidden_address`, `unknown_host`, `too_many_redirects`.
        """
        target = self._secure(parse_url(url))
        for _ in range(MOST_REDIRECTS + 1):
            async with contextlib.AsyncExitStack() as stack:
                reply = await stack.enter_async_context(self._ask(target, await self._admitted(target)))
                location = reply.headers.get("location", "") if reply.status in _REDIRECTS else ""
                if not location:
                    yield Page(target, reply)
                    return
            check_characters(location)
            new = parse_url(urljoin(target.url, location))
            if new.host != target.host:
                yield Elsewhere(new.url)
                return
            target = self._secure(new)
        raise ToolRefusal("too_many_redirects", f"{url} redirects more than {MOST_REDIRECTS} times.")

    def _secure(self, target: Target) -> Target:
        if self._allow_private or target.scheme == "https":
            return target
        port = 443 if target.port == _STANDARD_PORT else target.port
        return structs.replace(target, scheme="https", port=port)

    async def _admitted(self, target: Target) -> Sequence[str]:
        """The addresses of a host, all of them fit to be asked."""
        own = literal(target.host)
        if own is not None:
            check_address(own, target.host, allow_private=self._allow_private)
            return [str(own)]
        check_name(target.host, allow_private=self._allow_private)
        found = await self._resolve(target.host)
        if not found:
            raise ToolRefusal("unknown_host", f"There is no host {target.host}.")
        for address in found:
            check_address(ipaddress.ip_address(address), target.host, allow_private=self._allow_private)
        return found
