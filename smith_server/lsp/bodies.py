"""Message bodies and plain data: JSON as clients send it, half surrogate pairs included."""

import json
from typing import Any

import msgspec
from lsprotocol import types
from msgspec import Struct

from smith_server.lsp.documents import mended

OF_DOCUMENTS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
)
"""What tells the text of a document."""


def parse(body: bytes) -> Any:
    """A body as plain data. Raises `ValueError` and `RecursionError`.

    JSON allows a string to hold half of a surrogate pair, and clients whose strings are UTF-16 send
    it; the fast reader refuses it. Halves are replaced here, but `Documents` does it for itself.
    """
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError):
        data = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
        if not (isinstance(data, dict) and data.get("method") in OF_DOCUMENTS):
            data = mended(data)
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def encode(message: Any) -> bytes:
    """JSON bytes; half of a surrogate pair, which no JSON reader takes, becomes a question mark."""
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(message))


def _clean(node: Any) -> Any:
    if isinstance(node, str):
        return node.encode("utf-8", "replace").decode("utf-8")
    if isinstance(node, dict):
        return {_clean(key): _clean(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_clean(item) for item in node]
    return _clean(msgspec.to_builtins(node)) if isinstance(node, Struct) else node
