"""Completion of command lines: asked for by our own front-ends, and in prompt documents by any client."""

from typing import Any

import msgspec
from lsprotocol import types

from smith_server.lsp.arguments import decode
from smith_server.lsp.documents import Documents
from smith_server.lsp.prompts import PromptDocuments
from smith_server.lsp.protocol import CompleteAnswer, CompleteArguments
from smith_server.lsp.roots import Roots
from smith_server.lsp.wire import Arrival
from smith_server.runtime.services import Services
from smith_server.workspace.lsp_text import Position, offset_of, position_of


class Completions:
    """`smith.complete` and `textDocument/completion`."""

    def __init__(self, services: Services, roots: Roots, prompts: PromptDocuments, documents: Documents) -> None:
        self._services = services
        self._roots = roots
        self._prompts = prompts
        self._documents = documents

    async def complete(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Candidates for a place of a line."""
        args = decode(argument, CompleteArguments)
        session = await self._services.sessions.get(args.conversation, self._roots.first())
        found = await self._services.complete(args.line, args.cursor, session)
        told = tuple({"text": each.text, "detail": each.detail} for each in found.candidates)
        return msgspec.to_builtins(CompleteAnswer(found.start, found.end, told))

    async def in_document(self, params: types.CompletionParams) -> types.CompletionList:
        """The same in a prompt document, where a command is the first line."""
        document, at = self._prompts.get(params.text_document.uri), params.position
        if document is None or at.line > 0 or not document.lines:
            return types.CompletionList(is_incomplete=False, items=[])
        line = document.lines[0].rstrip("\r\n")
        cursor = offset_of([line], Position(at.line, at.character), self._documents.counting)
        session = await self._services.sessions.get("", self._roots.first())
        found = await self._services.complete(line, cursor, session)
        start = position_of([line], found.start, self._documents.counting)
        place = types.Range(types.Position(start.line, start.character), at)
        items = [
            types.CompletionItem(
                label=each.text.strip(),
                detail=each.detail,
                kind=types.CompletionItemKind.Keyword,
                sort_text=f"{number:04}",
                text_edit=types.TextEdit(place, each.text),
            )
            for number, each in enumerate(found.candidates)
        ]
        return types.CompletionList(is_incomplete=False, items=items)
