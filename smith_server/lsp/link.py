"""Requests and notifications of ours to the client, with a time limit each."""

import asyncio
import uuid
from typing import Any, TypeVar

import msgspec
from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import JsonRpcException

from smith_server.core.errors import ToolRefusal
from smith_server.lsp.client import Client
from smith_server.lsp.wire import Wire

ANSWER_SECONDS = 10.0
T = TypeVar("T", bound=Struct)


class Link:
    """The way to the client, typed."""

    def __init__(self, wire: Wire, client: Client) -> None:
        self._wire = wire
        self.client = client

    def notify(self, method: str, params: Struct | dict[str, Any]) -> int:
        """Send a notification; its size in bytes."""
        return self._wire.notify_plain(method, msgspec.to_builtins(params))

    async def ask(self, method: str, params: Struct, kind: type[T], seconds: float | None = ANSWER_SECONDS) -> T:
        """Send a request of ours and wait for its answer.

        Raises `ToolRefusal`: `editor_silent` when none comes in time, `editor_failed` for an error or
        an answer that does not fit. The request is withdrawn when the wait ends early.
        """
        answer = await self.ask_plain(method, msgspec.to_builtins(params), seconds)
        try:
            return msgspec.convert(answer, kind)
        except msgspec.ValidationError as problem:
            raise ToolRefusal("editor_failed", f"the editor's answer to {method} does not fit: {problem}") from None

    async def ask_plain(self, method: str, params: Any, seconds: float | None = None) -> Any:
        """The same with LSP's own structures; without `seconds` it waits for ever."""
        name = str(uuid.uuid4())
        future = self._wire.send_request_async(method, params, msg_id=name)
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            self._withdraw(name)
            raise ToolRefusal("editor_silent", f"the editor did not answer {method} in {seconds:g} s") from None
        except asyncio.CancelledError:
            self._withdraw(name)
            raise
        except JsonRpcException as problem:
            raise ToolRefusal("editor_failed", f"the editor answered {method} with an error: {problem}") from None

    def request_soon(self, method: str) -> None:
        """Send a request without parameters whose answer says nothing."""
        self._wire.send_request_async(method, None, msg_id=str(uuid.uuid4())).add_done_callback(_seen)

    def _withdraw(self, name: str) -> None:
        self._wire.notify_plain(types.CANCEL_REQUEST, {"id": name})


def _seen(answer: "asyncio.Future[Any]") -> None:
    if not answer.cancelled():
        answer.exception()
