"""Our own copy of every open file, fed by didOpen, didChange and didClose.

A document is never changed in place: a request keeps the documents as they were when it arrived.
A version that does not grow or a range outside the text marks a document as untrusted, and a message
that cannot be read all of them: the next use asks the client, and one that cannot be asked gets no edit
until it sends the whole text. Half of a surrogate pair is held as U+FFFD, which is as long in UTF-16;
such a document is `patched`, as U+FFFD in it may not be what the client holds. `counting` is how the
client counts lines and characters.
"""

import asyncio
import logging
import re
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
        self.patched = False

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
        document = Document(self.uri, version, lines, self.language, trusted=trusted)
        document.patched = self.patched
        return document


_HALF = re.compile("[\ud800-\udfff]")


def mended(node: Any) -> Any:
    """Plain data with U+FFFD in place of every half of a surrogate pair."""
    if isinstance(node, str):
        return node if node.isascii() else _HALF.sub("\ufffd", node)
    if isinstance(node, dict):
        return {mended(key): mended(value) for key, value in node.items()}
    return [mended(item) for item in node] if isinstance(node, list) else node


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
            uri, text = mended(item.uri), mended(item.text)
            lines = split_lines(text, self.counting.ends)
            self._open[uri] = Document(uri, item.version or 0, lines, mended(item.language_id))
            self._open[uri].patched = text != item.text

    def did_change(self, params: Any) -> None:
        """Take in `textDocument/didChange`, as it came."""
        message = self._fitting(params, _DidChange)
        document = self._open.get(mended(message.text_document.uri)) if message else None
        if message is None or document is None:
            return
        version = message.text_document.version or 0
        trusted = document.trusted and version > document.version
        lines, patched = document.lines, document.patched
        for piece in message.content_changes:
            text = mended(piece.text)
            is_mended = text != piece.text
            if piece.range is None:
                lines, trusted, patched = split_lines(text, self.counting.ends), True, is_mended
                continue
            # Two halves that meet are two units in UTF-16 alone.
            trusted = trusted and (not is_mended or self.counting.encoding == "utf-16")
            patched = patched or is_mended
            try:
                lines = apply_change(lines, piece.range, text, self.counting)
            except AgentFailure:
                trusted = False
        after = document.later(version, lines, trusted=trusted)
        after.patched = patched
        self._open[document.uri] = after
        self._wake()

    def did_close(self, params: Any) -> None:
        """Take in `textDocument/didClose`, as it came."""
        if (message := self._fitting(params, _DidClose)) is not None:
            self._open.pop(mended(message.text_document.uri), None)
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
            self.distrust(mended(uri))
        else:
            self.distrust_all()
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

    def distrust_all(self) -> None:
        """Any of the texts may have changed."""
        for uri in list(self._open):
            self.distrust(uri)


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
