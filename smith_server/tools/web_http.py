"""The one place that knows httpcore: one request for a page, to an address that was chosen before.

Knows no proxy: what is asked is what was checked. The library is imported with the first request,
and none of its exceptions leaves this file.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from smith_server import __version__
from smith_server.core.errors import ToolRefusal

if TYPE_CHECKING:
    from smith_server.tools.web_address import Target

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0

_HEADERS = {
    "User-Agent": f"smith/{__version__} (coding agent)",
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}


class Wire:
    """Asks for pages; see `web_guard.Ask`. One serves any number of requests."""

    def __init__(self) -> None:
        self._trusted: ssl.SSLContext | None = None

    @asynccontextmanager
    async def __call__(self, target: "Target", addresses: Sequence[str]) -> AsyncIterator["Answer"]:
        core = _httpcore()
        url = core.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        headers = {"Host": target.authority, **_HEADERS}
        limits = {"connect": CONNECT_SECONDS, "read": READ_SECONDS, "write": READ_SECONDS, "pool": CONNECT_SECONDS}
        trusted = await self._certificates() if target.scheme == "https" else None
        pool = core.AsyncConnectionPool(ssl_context=trusted, network_backend=_Pinned(core, addresses))
        async with contextlib.AsyncExitStack() as stack:
            with _told(core, target.host):
                await stack.enter_async_context(pool)
                request = pool.stream("GET", url, headers=headers, extensions={"timeout": limits})
                response = await stack.enter_async_context(request)
            yield Answer(response, partial(_told, core, target.host))

    async def _certificates(self) -> ssl.SSLContext:
        if self._trusted is None:
            self._trusted = await asyncio.to_thread(_trusted)
        return self._trusted


class Answer:
    """See `web_guard.Reply`."""

    def __init__(self, inner: Any, told: Any) -> None:
        self._inner = inner
        self._told = told
        self.status: int = inner.status
        self.headers: Mapping[str, str] = {_text(name).lower(): _text(value) for name, value in inner.headers}

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, piece by piece. Raises `ToolRefusal` when it breaks off."""
        with self._told():
            async for piece in self._inner.aiter_stream():
                yield piece


class _Pinned:
    """Connects to the given addresses, whatever host is asked for; the first that answers is taken."""

    def __init__(self, core: Any, addresses: Sequence[str]) -> None:
        self._core = core
        self._inner = core.AnyIOBackend()
        self._addresses = addresses

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None, **more: Any) -> Any:
        problem: Exception = OSError(f"no address of {host}")
        for address in self._addresses:
            try:
                return await self._inner.connect_tcp(address, port, timeout=timeout, **more)
            except (self._core.ConnectError, self._core.ConnectTimeout, OSError) as failed:
                problem = failed
        raise problem

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _httpcore() -> Any:
    import httpcore  # noqa: PLC0415 - heavy, and most conversations fetch nothing

    return httpcore


def _trusted() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415 - as above; it knows where certificates are kept

    context: ssl.SSLContext = httpx.create_ssl_context()
    return context


@contextlib.contextmanager
def _told(core: Any, host: str) -> Iterator[None]:
    """What the network does wrong, as refusals."""
    try:
        yield
    except core.TimeoutException as problem:
        raise ToolRefusal("timeout", f"{host} did not answer in time.") from problem
    except (core.ConnectError, OSError) as problem:
        if any(isinstance(each, ssl.SSLCertVerificationError) for each in _causes(problem)):
            raise ToolRefusal("certificate", f"The certificate of {host} is not valid: {problem}.") from problem
        raise ToolRefusal("unreachable", f"{host} cannot be reached: {problem}.") from problem
    except (core.NetworkError, core.ProtocolError, ValueError) as problem:
        raise ToolRefusal("broken", f"{host} does not answer as a web server should: {problem}.") from problem


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
