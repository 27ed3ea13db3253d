"""A language client that knows nothing of smith: one buffer, and answers to what a server may ask of any client."""

import asyncio
import secrets
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp.client import make_test_lsp_client

from tests.e2e.world import World

UNITS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


class Plain:
    """A client and one buffer of it. `does` says what it does with an edit that it is asked to apply."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lsp = make_test_lsp_client()
        self.encoding = "utf-16"
        self.does = "apply"
        self.shows_documents = False
        self.edits: list[types.ApplyWorkspaceEditParams] = []
        self.questions: list[str] = []
        self.answers: list[str | None] = []
        self.withdrawn: list[str] = []
        self.own: list[str] = []
        self._register()

    def _register(self) -> None:
        # The library's own reader takes every code action that has a command for a bare command.
        converter = self.lsp.protocol._converter
        converter.register_structure_hook(
            types.Command | types.CodeAction, lambda data, _: converter.structure(data, types.CodeAction)
        )
        self._answer()

    def _answer(self) -> None:
        """pygls writes on what it is given, which bound methods do not allow."""

        @self.lsp.feature(types.WORKSPACE_APPLY_EDIT)
        def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            return self._apply(params)

        @self.lsp.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        async def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            return await self._ask(params)

        @self.lsp.feature("smith/event")
        def event(params: Any) -> None:
            self.own.append("smith/event")

    async def start(self) -> None:
        command = ("-m", "smith_server", "serve")
        await self.lsp.start_io(sys.executable, *command, env=self.world.environ, cwd=self.world.root)
        capabilities = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(self.encoding)]),
            window=types.WindowClientCapabilities(
                work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(self.shows_documents)
            ),
            workspace=types.WorkspaceClientCapabilities(
                apply_edit=True, workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
            ),
        )
        result = await self.lsp.initialize_session(
            types.InitializeParams(capabilities=capabilities, root_uri=self.world.root.as_uri())
        )
        assert result.capabilities.position_encoding == self.encoding
        assert (
            "smith.turn" in (result.capabilities.execute_command_provider or types.ExecuteCommandOptions([])).commands
        )

    def open(self, path: Path, text: str) -> None:
        self.path, self.text, self.version = path, text, 1
        item = types.TextDocumentItem(path.as_uri(), "text", 1, text)
        self.lsp.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        document = types.VersionedTextDocumentIdentifier(self.version, self.path.as_uri())
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.lsp.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def start_turn(self, name: str, text: str = "do it", token: str | None = None) -> "asyncio.Task[dict[str, Any]]":
        if token is not None:
            # This client takes a token of its own for one that it does not know.
            self.lsp.progress_reports.setdefault(token, [])
        params = types.ExecuteCommandParams("smith.turn", [{"text": text}], token)
        request = self.lsp.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id=name)
        return asyncio.ensure_future(as_dict(request))

    async def turn(self, text: str = "do it") -> dict[str, Any]:
        return await asyncio.wait_for(self.start_turn(secrets.token_hex(4), text), 20)

    async def command(self, name: str, **argument: Any) -> dict[str, Any]:
        return await as_dict(self.lsp.workspace_execute_command_async(types.ExecuteCommandParams(name, [argument])))

    async def results(self) -> list[dict[str, Any]]:
        """The results of calls, as the model was told them."""
        listed = await self.command("smith.inspect", op="list")
        return [each["content"] for each in listed["messages"] if each["role"] == "tool"]

    async def _ask(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.questions.append(params.message)
        titles = [action.title for action in params.actions or ()]
        assert titles == ["Yes", "No", "Always in this session"]
        if not self.answers:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.withdrawn.append(params.message)
                raise
        title = self.answers.pop(0)
        return types.MessageActionItem(title) if title else None

    def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        self.edits.append(params)
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (self.path.as_uri(), self.version)
        after = edited(self.text, change.edits, self.encoding)
        match self.does:
            case "refuse":
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the buffer is locked")
            case "skip":
                return types.ApplyWorkspaceEditResult(applied=True)
            case "apply late":
                asyncio.get_running_loop().call_later(0.2, self.type, after)
            case "apply otherwise":
                self.type(after + "formatted on change\n")
            case _:
                self.type(after)
        return types.ApplyWorkspaceEditResult(applied=True)


async def as_dict(request: Awaitable[Any]) -> dict[str, Any]:
    """The answer of a command as it was sent."""
    return plain(await request)  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """pygls' client makes named tuples of objects."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def edited(text: str, edits: Any, encoding: str) -> str:
    def offset(place: types.Position) -> int:
        lines = [*text.splitlines(keepends=True), ""]
        name = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
        units = lines[place.line].encode(name)[: place.character * UNITS[encoding]]
        return len("".join(lines[: place.line])) + len(units.decode(name))

    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
