"""Which messages may be taken when: `initialize` first and once, nothing but `exit` after `shutdown`.

Source: LSP 3.17, "Server lifecycle". No I/O in here.
"""

from typing import Any, Literal

from lsprotocol import types
from msgspec import Struct

NOT_INITIALIZED, INVALID_REQUEST = -32002, -32600


class Refusal(Struct, frozen=True):
    """Why a message is not taken: JSON-RPC code and words."""

    code: int
    message: str


class Lifecycle:
    """The state of one connection, from the messages that come in."""

    def __init__(self) -> None:
        self._state: Literal["new", "running", "shut down"] = "new"

    def begin(self) -> None:
        """`initialize` was answered."""
        self._state = "running"

    def refusal(self, message: Any) -> Refusal | None:
        """Why `message`, a decoded body, cannot be taken; None when it can."""
        if text := _shape(message):
            return Refusal(INVALID_REQUEST, text)
        method = message.get("method")
        if method is None or method == types.EXIT:
            return None
        match self._state:
            case "new" if method != types.INITIALIZE:
                return Refusal(NOT_INITIALIZED, "the first request has to be `initialize`")
            case "running" if method == types.INITIALIZE:
                return Refusal(INVALID_REQUEST, "this server is initialized already")
            case "running" if method == types.SHUTDOWN and "id" in message:
                self._state = "shut down"
            case "shut down":
                return Refusal(INVALID_REQUEST, "this server was asked to shut down")
        return None


def is_id(value: object) -> bool:
    """Whether `value` can be the id of a request or a token."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _shape(message: Any) -> str:
    """What is wrong with a body as a message, or ""."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "not a JSON-RPC 2.0 message"
    if "id" in message and not is_id(message["id"]):
        return "an id is a string or a whole number"
    if not isinstance(message.get("method", ""), str):
        return "a method is a string"
    return "" if "method" in message or "id" in message else "neither a method nor an id"
