"""JSON as servers really send it: read strictly first, and once more with patience when that fails."""

import json
from typing import Any

import msgspec


class Malformed(ValueError):
    """No JSON, however patiently read."""


def decode(data: bytes) -> Any:
    """The value in `data`. Bytes that are no UTF-8 become U+FFFD; raw control characters, `NaN` and
    halves of a surrogate pair are let through. Raises `Malformed`.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _patient(data)


def _patient(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError) as problem:
        raise Malformed(str(problem)) from problem


def mend(text: str) -> str:
    """`text` fit for UTF-8: two halves of a surrogate pair become their character, a lone one U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mend_all(value: Any) -> Any:
    """`mend` for every text in a JSON value."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict):
        return {mend_all(key): mend_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mend_all(item) for item in value]
    return value


def encode(value: Any) -> bytes:
    """`value` as JSON in UTF-8, whatever halves of surrogate pairs it holds."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(mend_all(value))
