"""The one place that knows httpx: shared connections, and responses read as raw bytes.

httpx is imported when the first connection is wanted. None of its exceptions leaves this file.
"""

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from importlib import import_module
from typing import Any, Literal, cast

from smith_server.llm.presets import Preset, host_of, is_loopback

Reason = Literal["refused", "unknown_host", "certificate", "timeout", "proxy", "bundle", "other"]

_IDLE = 300.0
_DRAIN = 1.0


class Unreached(Exception):
    """No connection came about, or nothing could be sent at all."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason: Reason = reason


class Broken(Exception):
    """The connection was lost before the end of the response."""


class Response:
    """A response whose headers are here. `headers` have lower-case names."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._chunks: AsyncIterator[bytes] = inner.aiter_raw()
        self._over = False
        self.status: int = inner.status_code
        self.headers: Mapping[str, str] = dict(inner.headers)

    async def read(self) -> bytes:
        """The next bytes of the body, as they came from the wire; empty at its end. Raises `Broken`."""
        while not self._over:
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                self._over = True
            except _lost() as problem:
                raise Broken(_detail(problem)) from problem
            else:
                if chunk:
                    return chunk
        return b""

    async def close(self) -> None:
        """End the response. One that was not read to its end takes its connection with it."""
        try:
            await self._inner.aclose()
        except _lost():
            return

    async def drain(self) -> None:
        """Read what little is left, so that the connection can be used again, then close."""
        try:
            async with asyncio.timeout(_DRAIN):
                while await self.read():
                    pass
        except (TimeoutError, Broken):
            pass
        await self.close()


class Connections:
    """The open connections of a process, kept alive between requests. Belongs to one event loop."""

    def __init__(self) -> None:
        self._clients: dict[tuple[bool, bool, str], Any] = {}
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def prepare(self, preset: Preset) -> None:
        """Load what the first request would have to wait for, and ask nobody anything. A failure shows with it."""
        with contextlib.suppress(OSError, ValueError):
            await self._client(preset)

    async def send(
        self, preset: Preset, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """Send a request below the base URL of `preset` and wait for the headers of the response.

        Raises `Unreached` or `Broken`. Waits without a limit of its own once the request is sent.
        """
        try:
            client = await self._client(preset)
            limits = preset.timeouts
            timeout = _httpx().Timeout(None, connect=limits.connect, write=limits.send)
            request = client.build_request(
                method, preset.base_url + path, content=body or None, headers=dict(headers), timeout=timeout
            )
            return Response(await client.send(request, stream=True))
        except _unreached() as problem:
            raise Unreached(_reason(problem), _detail(problem)) from problem
        except _lost() as problem:
            raise Broken(_detail(problem)) from problem

    def run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run `work` to its end, whatever becomes of the caller."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self) -> None:
        """Wait until nothing is being read or closed any more behind finished answers."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Close everything. A request that is under way fails."""
        for task in list(self._tasks):
            task.cancel()
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    async def _client(self, preset: Preset) -> Any:
        """The client for an address. Certificates are loaded for https only; this machine is never
        asked through a proxy.
        """
        tls = preset.base_url.lower().startswith("https:")
        key = (tls, is_loopback(host_of(preset.base_url)), preset.ca_bundle)
        if key not in self._clients:
            async with self._lock:
                if key not in self._clients:
                    self._clients[key] = await asyncio.to_thread(_new_client, *key)
        return self._clients[key]


def _httpx() -> Any:
    """httpx without its command line, which would import click and rich where they are installed."""
    sys.modules.setdefault("httpx._main", cast(Any, None))
    import httpx  # noqa: PLC0415 - 150 ms that a start without a request does not pay

    return httpx


def _new_client(tls: bool, direct: bool, ca_bundle: str) -> Any:
    """Raises `Unreached` for what the environment says of certificates and proxies, if it cannot be."""
    httpx = _httpx()
    _settle_sniffio()
    try:
        trusted = _certificates(ca_bundle) if tls or (not direct and _has_tls_proxy()) else _no_certificates()
    except OSError as problem:
        raise Unreached("bundle", _detail(problem)) from problem
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=_IDLE)
    try:
        return httpx.AsyncClient(verify=trusted, trust_env=not direct, limits=limits)
    except (ValueError, ImportError, httpx.InvalidURL) as problem:
        raise Unreached("proxy", _detail(problem)) from problem


def _settle_sniffio() -> None:
    """The transport asks for sniffio four times a request; where it is missing, each walks the import path."""
    try:
        import_module("sniffio")
    except ImportError:
        sys.modules["sniffio"] = cast(Any, None)


def _certificates(ca_bundle: str) -> ssl.SSLContext:
    """The bundle that was named, else `SSL_CERT_FILE` or `SSL_CERT_DIR`, else the usual authorities."""
    if ca_bundle:
        return ssl.create_default_context(cafile=ca_bundle)
    context: ssl.SSLContext = _httpx().create_ssl_context(trust_env=True)
    return context


def _no_certificates() -> ssl.SSLContext:
    """A context that trusts nobody, for a client that never speaks TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _has_tls_proxy() -> bool:
    from urllib.request import getproxies  # noqa: PLC0415 - httpx brings it along

    return any(url.startswith("https:") for url in getproxies().values())


def _unreached() -> tuple[type[Exception], ...]:
    """What can go wrong before anything is sent; a few library layers let their own problems through."""
    httpx = _httpx()
    return (
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.ProxyError,
        httpx.UnsupportedProtocol,
        httpx.LocalProtocolError,
        httpx.InvalidURL,
        ArithmeticError,
        ExceptionGroup,
        ValueError,
        OSError,
    )


def _lost() -> tuple[type[Exception], ...]:
    """What can go wrong from then on."""
    httpx = _httpx()
    return (httpx.HTTPError, httpx.StreamError, ExceptionGroup, OSError)


def _reason(problem: BaseException) -> Reason:
    """Why there is no connection, from whatever lies behind the library's own exception."""
    chain = list(_causes(problem))
    if any(isinstance(each, ConnectionRefusedError) for each in chain):
        return "refused"
    if any(isinstance(each, socket.gaierror) for each in chain):
        return "unknown_host"
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in chain):
        return "certificate"
    httpx = _httpx()
    if isinstance(problem, httpx.ProxyError):
        return "proxy"
    return "timeout" if isinstance(problem, httpx.ConnectTimeout) else "other"


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        if isinstance(problem, BaseExceptionGroup):
            for each in problem.exceptions:
                yield from _causes(each)
        problem = problem.__cause__ or problem.__context__


def _detail(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"
