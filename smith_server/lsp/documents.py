"""Our own copy of every open file, fed by didOpen, didChange and didClose.

A document is never changed in place: a request keeps the documents as they were when it arrived.
A version that does not grow or a range outside the text marks a document as untrusted; its next use
asks the client. `counting` is how the client counts lines and characters.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from pygls.uris import from_fs_path, to_fs_path

from smith_server.core.errors import AgentFailure
from smith_server.workspace.lsp_text import Counting, Range, apply_change, split_lines
from smith_server.workspace.text import text_hash

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Struct)


class Document:
    """One open file at one version. `path` is None for what is no file."""

    def __init__(
        self, uri: str, version: int, lines: Sequence[str], language: str = "", *, trusted: bool = True
    ) -> None:
        self.uri = uri
        self.version = version
        self.lines = lines
        self.language = language
        self.trusted = trusted

    @cached_property
    def text(self) -> str:
        return "".join(self.lines)

    @cached_property
    def hash(self) -> str:
        return text_hash(self.text)

    @cached_property
    def path(self) -> Path | None:
        return uri_path(self.uri)

    def later(self, version: int, lines: Sequence[str], *, trusted: bool) -> "Document":
        """The same file with another text."""
        return Document(self.uri, version, lines, self.language, trusted=trusted)


class _Item(Struct, frozen=True, rename="camel"):
    uri: str
    version: int | None = None
    text: str = ""
    language_id: str = ""


class _Piece(Struct, frozen=True):
    text: str
    range: Range | None = None


class _DidOpen(Struct, frozen=True, rename="camel"):
    text_document: _Item


class _DidChange(Struct, frozen=True, rename="camel"):
    text_document: _Item
    content_changes: tuple[_Piece, ...]


class _DidClose(Struct, frozen=True, rename="camel"):
    text_document: _Item


Snapshot = Mapping[str, Document]


class Documents:
    """All open documents of one client, by URI."""

    def __init__(self) -> None:
        self.counting = Counting()
        self._open: dict[str, Document] = {}
        self._waiting: list[asyncio.Future[None]] = []

    async def changed(self) -> None:
        """Wait for the next change of any document."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def snapshot(self) -> Snapshot:
        """The documents as they are now."""
        return dict(self._open)

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def all(self) -> Iterable[Document]:
        return list(self._open.values())

    def at(self, path: Path) -> Document | None:
        """The document of the file at `path`: the same name, or the same device and inode."""
        files = [document for document in self._open.values() if document.path is not None]
        for document in files:
            if document.path == path:
                return document
        wanted = _identity(path)
        if wanted is None:
            return None
        return next((each for each in files if each.path is not None and _identity(each.path) == wanted), None)

    def did_open(self, params: Any) -> None:
        """Take in `textDocument/didOpen`, as it came. What does not fit is logged and left out."""
        if (message := self._fitting(params, _DidOpen)) is not None:
            item = message.text_document
            lines = split_lines(item.text, self.counting.ends)
            self._open[item.uri] = Document(item.uri, item.version or 0, lines, item.language_id)

    def did_change(self, params: Any) -> None:
        """Take in `textDocument/didChange`, as it came."""
        message = self._fitting(params, _DidChange)
        document = self._open.get(message.text_document.uri) if message else None
        if message is None or document is None:
            return
        version = message.text_document.version or 0
        trusted = document.trusted and version > document.version
        lines = document.lines
        for piece in message.content_changes:
            if piece.range is None:
                lines, trusted = split_lines(piece.text, self.counting.ends), True
                continue
            try:
                lines = apply_change(lines, piece.range, piece.text, self.counting)
            except AgentFailure:
                trusted = False
        self._open[document.uri] = document.later(version, lines, trusted=trusted)
        self._wake()

    def did_close(self, params: Any) -> None:
        """Take in `textDocument/didClose`, as it came."""
        if (message := self._fitting(params, _DidClose)) is not None:
            self._open.pop(message.text_document.uri, None)
            self._wake()

    def _fitting(self, params: Any, kind: type[T]) -> T | None:
        """`params` as a structure; a document that a misfit names may no longer be what it was."""
        try:
            return msgspec.convert(params, kind)
        except msgspec.ValidationError as problem:
            log.warning("%s of the client does not fit: %s", kind.__name__, problem)
        item = params.get("textDocument") if isinstance(params, dict) else None
        uri = item.get("uri") if isinstance(item, dict) else None
        if isinstance(uri, str):
            self.distrust(uri)
        return None

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def settle(self, uri: str, text: str, version: int | None) -> Document:
        """Take the client's own word for a document."""
        before = self._open.get(uri)
        known = version if version is not None else before.version if before else 0
        language = before.language if before else ""
        self._open[uri] = Document(uri, known, split_lines(text, self.counting.ends), language)
        return self._open[uri]

    def distrust(self, uri: str) -> None:
        """The text of this document is in doubt until the client is asked."""
        if (document := self._open.get(uri)) is not None:
            self._open[uri] = document.later(document.version, document.lines, trusted=False)


def uri_path(uri: str) -> Path | None:
    """The path of a `file:` URI; None for any other, and for one that can be no path."""
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(name) if name and "\0" not in name else None


def path_uri(path: Path) -> str:
    """The URI of a path."""
    return from_fs_path(str(path)) or path.as_uri()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
