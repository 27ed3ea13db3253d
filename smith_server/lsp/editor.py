"""The `Editor` port over the protocol: what is open, guarded edits, saving, the disk behind it."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from lsprotocol import types

from smith_server.core.editor import Change, DiskMark, Hunk, OpenText, Receipt, SaveOutcome
from smith_server.core.errors import AgentFailure, ToolRefusal
from smith_server.core.events import EditWaiting, Event
from smith_server.lsp import protocol
from smith_server.lsp.documents import Document, Documents, path_uri
from smith_server.lsp.link import Link
from smith_server.lsp.proposals import EDIT_SECONDS, Proposals
from smith_server.lsp.protocol import (
    ApplyEdit,
    BufferState,
    ReadBuffer,
    SaveAnswer,
    SaveBuffers,
    TextEdit,
)
from smith_server.workspace.lsp_text import Range, positions_of
from smith_server.workspace.text import decode, text_hash

_SETTLE_SECONDS = 3.0


class Buffers:
    """The open files of one connection, shared by its conversations."""

    def __init__(self, documents: Documents, link: Link, proposals: Proposals) -> None:
        self.documents = documents
        self.link = link
        self.proposals = proposals
        self._disk: dict[Path, tuple[tuple[int, ...] | None, str]] = {}

    async def find(self, path: Path, *, certain: bool) -> Document | None:
        """The document at `path`, with a text that can be relied on."""
        document = self.documents.at(path)
        if document is None and not (certain and self.link.client.plugin):
            return None
        if document is not None and (document.trusted or not self.link.client.plugin):
            return document
        return await self._read(document.uri if document else path_uri(path), path)

    async def _read(self, uri: str, path: Path) -> Document | None:
        question = ReadBuffer(uri, real_path(path))
        state = await self.link.ask(protocol.READ_BUFFER, question, BufferState)
        if not state.open:
            self.documents.did_close({"textDocument": {"uri": uri}})
            return None
        return self.documents.settle(state.uri or uri, state.text, state.version)

    async def disk_hash(self, path: Path) -> str:
        """Hash of the file's text on disk, "" when there is none; read again only when the file changed."""
        facts = stat_facts(path)
        known = self._disk.get(path)
        if known is None or known[0] != facts:
            known = (facts, await asyncio.to_thread(_hash_of, path))
            self._disk[path] = known
        return known[1]


class ConversationEditor:
    """One conversation's view of the open buffers; it knows which differences are its own edits.

    `made` is told of every change that was applied.
    """

    def __init__(self, buffers: Buffers, emit: Callable[[Event], None], made: Callable[[Change], None]) -> None:
        self._buffers = buffers
        self._emit = emit
        self._made = made
        self._late: Callable[[str, Receipt], None] = lambda change, receipt: None
        self._own: dict[str, str] = {}

    async def open_text(self, path: Path, *, certain: bool = False) -> OpenText | None:
        document = await self._buffers.find(path, certain=certain)
        return await self._open_text(document) if document is not None else None

    async def _open_text(self, document: Document) -> OpenText:
        path = document.path or Path(document.uri)
        modified = await self._buffers.disk_hash(path) != document.hash
        own_only = modified and self._own.get(document.uri) == document.hash
        return OpenText(path, document.text, document.hash, document.version, modified, own_only)

    def on_late(self, listener: Callable[[str, Receipt], None]) -> None:
        self._late = listener

    async def unsaved(self) -> Sequence[OpenText]:
        texts = [await self._open_text(each) for each in self._buffers.documents.all() if each.path is not None]
        return [text for text in texts if text.modified]

    async def apply(self, change: Change) -> Receipt:
        document = await self._buffers.find(change.path, certain=True)
        if document is None:
            return Receipt("gone")
        if document.hash != change.base_hash:
            return Receipt("stale", document.hash)
        if reason := _unsure(document, change):
            return Receipt("refused", message=reason)
        before = await self._open_text(document)
        after = text_hash(applied(document.text, change.hunks))
        if self._buffers.link.client.apply_edit:
            receipt = await self._buffers.proposals.propose(
                self._request(change, document), self._waiting(change), self._late
            )
        else:
            receipt = await _plain_edit(self._buffers, document, change, after)
        # What other clients hold is known from their changes alone, and these have all been taken in.
        if self._buffers.link.client.plugin and _contradicts(receipt, document.hash, after):
            self._buffers.documents.distrust(document.uri)
        if receipt.status != "applied":
            return receipt
        if before.own_only or not before.modified:
            self._own[document.uri] = after
        self._made(change)
        return msgspec.structs.replace(receipt, hash=after)

    def _request(self, change: Change, document: Document) -> ApplyEdit:
        edits = tuple(
            TextEdit(_range(document, hunk, self._buffers.documents), hunk.new, hunk.old) for hunk in change.hunks
        )
        deadline = self._buffers.link.client.deadline(EDIT_SECONDS)
        return ApplyEdit(change.id, document.uri, document.version, document.hash, edits, change.label, deadline)

    def _waiting(self, change: Change) -> Callable[[str], None]:
        return lambda reason: self._emit(EditWaiting(path=str(change.path), reason=reason))

    async def save(self, texts: Sequence[OpenText], reason: str) -> Sequence[SaveOutcome]:
        if not self._buffers.link.client.plugin:
            return [SaveOutcome(text.path, "refused", "this editor cannot be asked to save") for text in texts]
        hashes = {self._uri(text.path): text.hash for text in texts}
        by_uri = {self._uri(text.path): text.path for text in texts}
        question = SaveBuffers(tuple(hashes), reason, tuple(hashes.values()))
        try:
            answer = await self._buffers.link.ask(protocol.SAVE_BUFFERS, question, SaveAnswer)
        except AgentFailure as problem:
            return [SaveOutcome(text.path, "unknown", problem.error.message) for text in texts]
        for each in answer.results:
            if each.status == "stale" and each.uri in hashes:
                await self._look_again(by_uri[each.uri], hashes[each.uri])
        return [
            msgspec.convert(
                {"path": by_uri[each.uri], "status": each.status, "message": each.message}, SaveOutcome, strict=False
            )
            for each in answer.results
            if each.uri in by_uri
        ]

    def _uri(self, path: Path) -> str:
        document = self._buffers.documents.at(path)
        return document.uri if document is not None else path_uri(path)

    async def _look_again(self, path: Path, refuted: str) -> None:
        """Get the text that the editor has instead of the one with the hash `refuted`, if it was not sent yet."""
        document = self._buffers.documents.at(path)
        if document is None or document.hash != refuted:
            return
        self._buffers.documents.distrust(document.uri)
        with contextlib.suppress(AgentFailure):
            await self._buffers.find(path, certain=True)

    def mark_disk(self) -> DiskMark:
        paths = [each.path for each in self._buffers.documents.all() if each.path is not None]
        return DiskMark(tuple((path, stat_facts(path)) for path in paths))

    def changed_since(self, mark: DiskMark) -> Sequence[Path]:
        return [path for path, facts in mark.files if stat_facts(path) != facts]


def _unsure(document: Document, change: Change) -> str:
    """Why an edit could hit what is not known to be there, or "".

    `old` of a hunk with U+FFFD that stands for something else would not be what is replaced, and
    its new text would write U+FFFD over it.
    """
    if not document.trusted:
        return "its changes could not all be followed; the user has to close the file and open it again"
    if document.patched and any("\ufffd" in document.text[hunk.start : hunk.end] for hunk in change.hunks):
        return "the lines hold half of a surrogate pair, which cannot be read or written"
    return ""


def _contradicts(receipt: Receipt, before: str, after: str) -> bool:
    """Whether the editor's text is not what is held here, or may not be."""
    match receipt.status:
        case "applied":
            return receipt.hash not in ("", after)
        case "stale":
            return receipt.hash != before
        case status:
            return status == "unknown"


def applied(text: str, hunks: Sequence[Hunk]) -> str:
    """`text` with every hunk in place."""
    parts, at = [], 0
    for hunk in hunks:
        parts += [text[at : hunk.start], hunk.new]
        at = hunk.end
    return "".join([*parts, text[at:]])


def _range(document: Document, hunk: Hunk, documents: Documents) -> Range:
    return Range(*positions_of(document.lines, (hunk.start, hunk.end), documents.counting))


def _lsp_range(span: Range) -> types.Range:
    start, end = (types.Position(place.line, place.character) for place in (span.start, span.end))
    return types.Range(start, end)


async def _plain_edit(buffers: Buffers, document: Document, change: Change, after: str) -> Receipt:
    """An edit through `workspace/applyEdit`. Its answer proves nothing: the text that comes back does."""
    if "\r" in document.text.replace("\r\n", ""):
        return Receipt("refused", message="lone carriage returns, which this client and the server count differently")
    edits = [types.TextEdit(_lsp_range(_range(document, hunk, buffers.documents)), hunk.new) for hunk in change.hunks]
    versioned = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(versioned, edits)])
    params = types.ApplyWorkspaceEditParams(edit, change.label)
    try:
        answer = await buffers.link.ask_plain(types.WORKSPACE_APPLY_EDIT, params, EDIT_SECONDS)
    except ToolRefusal as problem:
        return Receipt("unknown", message=problem.error.message)
    if not getattr(answer, "applied", False):
        return Receipt("refused", message=getattr(answer, "failure_reason", None) or "the editor did not apply it")
    return await _seen(buffers, document, after)


async def _seen(buffers: Buffers, document: Document, after: str) -> Receipt:
    """Wait until the client sends the text that was meant."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SETTLE_SECONDS):
            while (now := buffers.documents.get(document.uri)) is not None:
                if now.trusted and now.hash == after:
                    return Receipt("applied", after)
                await buffers.documents.changed()
            return Receipt("gone")
    now = buffers.documents.get(document.uri)
    if now is not None and now.version == document.version:
        return Receipt("unknown", message="it said that it did, but its text did not change")
    return Receipt("stale", now.hash if now else "", "the text in the editor is not what was meant")


def real_path(path: Path) -> str:
    """The name of a file with all links followed."""
    return os.path.realpath(path)


def stat_facts(path: Path) -> tuple[int, ...] | None:
    """What tells one state of a file from another; None when it is not there."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _hash_of(path: Path) -> str:
    try:
        return text_hash(decode(path.read_bytes()).text)
    except (OSError, ToolRefusal):
        return ""
