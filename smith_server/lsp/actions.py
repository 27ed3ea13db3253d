"""Code actions on a selection: explain it, fix what the editor complains of, write a prompt about it."""

from typing import Any

from lsprotocol import types

from smith_server.lsp import protocol
from smith_server.lsp.link import Link
from smith_server.lsp.prompts import PromptDocuments


class Actions:
    """`textDocument/codeAction`. The turn runs in the background; its answer reaches the person as any does."""

    def __init__(self, prompts: PromptDocuments, link: Link) -> None:
        self._prompts = prompts
        self._link = link

    async def in_document(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What may be done with a range of a document; a prompt itself offers nothing."""
        uri = params.text_document.uri
        if self._prompts.get(uri) is not None:
            return []
        actions = []
        context = _context(params)
        if params.context.diagnostics:
            text = "Fix the problems that the editor shows here."
            actions.append(_turn("smith: fix these problems", types.CodeActionKind.QuickFix, text, context))
        if params.range.start != params.range.end:
            text = "Explain the selected code."
            actions.append(_turn("smith: explain this", types.CodeActionKind.Refactor, text, context))
            if self._link.client.show_document:
                command = types.Command("smith: edit this …", protocol.PROMPT, arguments=[{"context": context}])
                actions.append(types.CodeAction(command.title, kind=types.CodeActionKind.Refactor, command=command))
        only = params.context.only
        return [each for each in actions if not only or any(_covers(kind, each.kind) for kind in only)]


def _turn(title: str, kind: types.CodeActionKind, text: str, context: dict[str, Any]) -> types.CodeAction:
    argument = {"text": text, "context": context, "wait": False}
    return types.CodeAction(title, kind=kind, command=types.Command(title, protocol.TURN, arguments=[argument]))


def _context(params: types.CodeActionParams) -> dict[str, Any]:
    """The context of a turn in its wire spelling."""
    problems = [
        {
            "range": _range(each.range),
            "message": each.message,
            "severity": each.severity,
            "code": each.code,
            "source": each.source,
        }
        for each in params.context.diagnostics
    ]
    return {"uri": params.text_document.uri, "range": _range(params.range), "diagnostics": problems}


def _range(place: types.Range) -> dict[str, Any]:
    ends = {"start": place.start, "end": place.end}
    return {name: {"line": end.line, "character": end.character} for name, end in ends.items()}


def _covers(wanted: types.CodeActionKind | str, kind: types.CodeActionKind | str | None) -> bool:
    """Whether a kind is `wanted` or below it (LSP 3.17, CodeActionKind)."""
    asked, own = (str(getattr(each, "value", each)) for each in (wanted, kind))
    return own == asked or own.startswith(f"{asked}.") or not asked
