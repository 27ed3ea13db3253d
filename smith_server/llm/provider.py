"""A provider behind HTTP: one attempt per request, over connections that the whole process shares."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from smith_server import __version__
from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentError, AgentFailure, agent_error
from smith_server.core.ports import Delta, Failed, Request
from smith_server.llm import advice, errors
from smith_server.llm.answer import Reader
from smith_server.llm.dialects import DIALECTS
from smith_server.llm.exchange import Exchange, masked, without
from smith_server.llm.http import Broken, Connections, Unreached
from smith_server.llm.model_list import MOST_LIST, ids_in
from smith_server.llm.presets import Preset, host_of

_LIST_TIME = 10.0


class HttpProvider:
    """A model behind an HTTP address.

    `key` is sent with each request and appears in no text. `connections` are shared with other
    providers of the process; whoever made them closes them.
    """

    def __init__(self, preset: Preset, connections: Connections, key: str = "") -> None:
        self.name = preset.name
        self.preset = preset
        self._connections = connections
        self._key = key.strip()
        self._dialect = DIALECTS[preset.dialect]
        self._encoder = self._dialect.encoder(preset)
        self._headers = {streamed: self._headers_of(streamed) for streamed in (True, False)}
        self._problem = self._refusal()

    async def stream(self, request: Request, token: CancelToken) -> AsyncIterator[Delta]:
        """One attempt. Yields pieces; the last one is `Done` or `Failed`.

        Raises nothing but cancellation, within milliseconds once `token` is requested; the
        connection is closed then, so that the server stops too.
        """
        try:
            body = self._body(request)
            taken = self._encoder.call_ids(request)
        except AgentFailure as problem:
            yield Failed(problem.error)
            return

        def reader(content_type: str) -> Reader:
            return self._dialect.reader(self.preset, content_type, taken)

        exchange = Exchange(self._connections, self.preset, reader, streamed=request.stream)
        try:
            await exchange.open(self._dialect.path, self._headers[request.stream], body, token)
            while not exchange.over:
                for delta in await exchange.read(token):
                    yield delta
        finally:
            await exchange.close()
        for delta in exchange.rest():
            yield masked(delta, self._key)

    def ready(self) -> None:
        """Raise `AgentFailure` (`transport`) when no request can be sent: key, address or headers are wrong."""
        if self._problem is not None:
            raise AgentFailure(self._problem)

    async def warm(self) -> None:
        """Open a connection before the first prompt needs it. A failure shows with the prompt."""
        if self._problem is not None:
            return
        try:
            async with asyncio.timeout(self.preset.timeouts.connect):
                response = await self._connections.send(self.preset, "HEAD", "/models", self._headers[False])
                await response.drain()
        except (TimeoutError, Unreached, Broken):
            return

    async def models(self) -> tuple[str, ...]:
        """The ids of the models that the server offers, in its order.

        Raises `AgentFailure` (`transport`, or `protocol` for a list that is none); ten seconds at most.
        """
        return ids_in(await self.fetch("/models"), self.preset)

    async def fetch(self, path: str, body: bytes = b"", base: str = "") -> bytes:
        """A small answer beside the dialect, at most `MOST_LIST` bytes of it: to a POST when there is a `body`.

        `base` stands for the base address; it has to be of the same server, as the key goes there.
        Raises `AgentFailure` (`transport`); ten seconds at most.
        """
        self.ready()
        try:
            async with asyncio.timeout(_LIST_TIME):
                return await self._fetched(path, body, base)
        except (TimeoutError, Broken):
            raise AgentFailure(self._error("stall_timeout", advice.stalled(self.preset))) from None
        except Unreached as problem:
            text = advice.unreachable(problem.reason, self.preset)
            raise AgentFailure(self._error("unreachable", text)) from problem

    async def _fetched(self, path: str, sent: bytes, base: str) -> bytes:
        preset = msgspec.structs.replace(self.preset, base_url=base) if base else self.preset
        method = "POST" if sent else "GET"
        response = await self._connections.send(preset, method, path, self._headers[False], sent)
        try:
            body = bytearray()
            while len(body) <= MOST_LIST and (chunk := await response.read()):
                body += chunk
        finally:
            await asyncio.shield(self._connections.run(response.close()))
        if response.status != 200:
            failed = errors.of_response(response.status, response.headers, bytes(body), self.preset)
            raise AgentFailure(without(failed.error, self._key) if self._key else failed.error)
        return bytes(body)

    def _headers_of(self, streamed: bool) -> dict[str, str]:
        """A body is asked for uncompressed, so that it comes as it is made."""
        headers = {
            "User-Agent": f"smith/{__version__}",
            "Content-Type": "application/json",
            "Accept": "text/event-stream" if streamed else "application/json",
            "Accept-Encoding": "identity",
        }
        if self._key:
            name, before = self._dialect.key_header
            headers[name] = before + self._key
        return {**headers, **self.preset.headers}

    def _body(self, request: Request) -> bytes:
        self.ready()
        return self._encoder.body(request)

    def _refusal(self) -> AgentError | None:
        """Why no request is sent at all."""
        preset = self.preset
        if not preset.base_url.lower().startswith(("http://", "https://")) or not host_of(preset.base_url):
            return self._error("bad_request", advice.bad_address(preset))
        if preset.needs_key and not self._key:
            return self._error("auth", advice.missing_key(preset))
        for name, value in self._headers[True].items():
            if not f"{name}{value}".isascii() or not f"{name}{value}".isprintable():
                return self._error("auth", advice.bad_header(name, preset))
        return None

    def _error(self, code: str, text: str) -> AgentError:
        return agent_error("transport", code, text, provider=self.name)
