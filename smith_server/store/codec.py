"""Records to bytes and back: msgpack with sorted keys, so equal records give equal bytes.

A record is checked against its type on the way in and on the way out. Text may hold lone
surrogates and whole numbers any size: what a tool or a provider said is stored as it was said.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgpack
import msgspec

from smith_server.core.errors import AgentFailure, failure
from smith_server.core.messages import AssistantMessage, Message, ToolMessage, UserMessage

T = TypeVar("T")

_BIG_NUMBER = 1
_KINDS: dict[type[Message], str] = {UserMessage: "user", AssistantMessage: "assistant", ToolMessage: "tool"}


def encode(record: msgspec.Struct | Mapping[str, Any]) -> bytes:
    """The canonical bytes of a record. Raises persistence/`invalid_record` when a field has a wrong type."""
    kind: Any = dict[str, Any] if isinstance(record, Mapping) else type(record)
    try:
        plain = msgspec.to_builtins(record, builtin_types=(bytes,), order="sorted")
        msgspec.convert(plain, kind)
        data: bytes = msgpack.packb(plain, default=_packed_number, unicode_errors="surrogatepass")
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise failure(
            "persistence", "invalid_record", f"A {type(record).__name__} could not be stored: {problem}"
        ) from problem
    return data


def decode(data: bytes, kind: type[T]) -> T:
    """The record in `data`. Raises persistence/`undecodable` for bytes that hold no such record."""
    try:
        plain = msgpack.unpackb(data, ext_hook=_number, unicode_errors="surrogatepass", strict_map_key=False)
        return msgspec.convert(plain, kind)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise _undecodable(problem) from problem


def decode_message(data: bytes) -> Message:
    """As `decode`, for a message of any kind."""
    return decode(data, Message)  # type: ignore[arg-type]


def calls_in(record: bytes) -> set[str]:
    """The ids of the calls in a message; none where there are none, or the record cannot be read."""
    try:
        message = decode_message(record)
    except AgentFailure:
        return set()
    return {call.id for call in message.calls} if isinstance(message, AssistantMessage) else set()


def encode_json(record: Mapping[str, Any]) -> str:
    """A table as canonical JSON: sorted keys, no blanks, ASCII. Raises persistence/`invalid_record`."""
    try:
        return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise failure("persistence", "invalid_record", f"A table could not be stored: {problem}") from problem


def decode_json(text: str) -> dict[str, Any]:
    """The table in `text`. Raises persistence/`undecodable`."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise _undecodable(problem) from problem
    if not isinstance(table, dict):
        raise _undecodable(f"a table was expected, found {type(table).__name__}")
    return table


def kind_of(message: Message) -> str:
    """`user`, `assistant` or `tool`."""
    return _KINDS[type(message)]


def text_in(text: str) -> str | bytes:
    """`text` as a column value: a blob where it is no valid Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def text_out(value: str | bytes) -> str:
    """The text that `text_in` was given."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _undecodable(why: object) -> AgentFailure:
    text = f"A stored record could not be read ({why}). The others are not affected."
    return failure("persistence", "undecodable", text)


def _packed_number(value: object) -> msgpack.ExtType:
    if isinstance(value, int):
        return msgpack.ExtType(_BIG_NUMBER, f"{value:x}".encode())
    raise TypeError(f"no {type(value).__name__} can be stored")


def _number(code: int, data: bytes) -> int:
    if code != _BIG_NUMBER:
        raise ValueError(f"unknown extension {code}")
    return int(data, 16)
