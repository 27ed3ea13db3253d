"""Our own copy of every open file, fed by didOpen, didChange and didClose.

A document is never changed in place: a request keeps the documents as they were when it arrived.
A version that does not grow or a range outside the text marks a document as untrusted; its next use
asks the client. `counting` is how the client counts lines and characters.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from pygls.uris import from_fs_path, to_fs_path

from smith_server.core.errors import AgentFailure
from smith_server.workspace.lsp_text import Counting, Range, apply_change, split_lines
from smith_server.workspace.text import text_hash


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

    def did_open(self, params: dict[str, Any]) -> None:
        item = params["textDocument"]
        lines = split_lines(item["text"], self.counting.ends)
        self._open[item["uri"]] = Document(item["uri"], item.get("version", 0), lines, item.get("languageId", ""))

    def did_change(self, params: dict[str, Any]) -> None:
        item = params["textDocument"]
        document = self._open.get(item["uri"])
        if document is None:
            return
        version = item.get("version") or 0
        trusted = document.trusted and version > document.version
        lines = document.lines
        for change in params.get("contentChanges", ()):
            if change.get("range") is None:
                lines, trusted = split_lines(change["text"], self.counting.ends), True
                continue
            try:
                span = msgspec.convert(change["range"], Range)
                lines = apply_change(lines, span, change["text"], self.counting)
            except (AgentFailure, msgspec.ValidationError):
                trusted = False
        self._open[item["uri"]] = document.later(version, lines, trusted=trusted)
        self._wake()

    def did_close(self, params: dict[str, Any]) -> None:
        self._open.pop(params["textDocument"]["uri"], None)
        self._wake()

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
    """The path of a `file:` URI, else None."""
    if not uri.startswith("file:"):
        return None
    name = to_fs_path(uri)
    return Path(name) if name else None


def path_uri(path: Path) -> str:
    """The URI of a path."""
    return from_fs_path(str(path)) or path.as_uri()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
