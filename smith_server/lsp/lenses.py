"""Code lenses of prompt documents: send it, and while a turn runs, cancel that."""

from lsprotocol import types

from smith_server.core.events import Envelope, TurnEnded, TurnStarted
from smith_server.lsp import protocol
from smith_server.lsp.link import Link
from smith_server.lsp.prompts import PromptDocuments
from smith_server.runtime.services import Services
from smith_server.runtime.typed import is_command

_TOP = types.Range(types.Position(0, 0), types.Position(0, 0))


class Lenses:
    """`textDocument/codeLens`, and word to the client when another answer would come."""

    def __init__(self, services: Services, prompts: PromptDocuments, link: Link) -> None:
        self._services = services
        self._prompts = prompts
        self._link = link
        if link.client.lens_refresh:
            services.bus.subscribe(self._watch)

    async def in_document(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """The lenses of one document; none where there is nothing to send."""
        document = self._prompts.get(params.text_document.uri)
        if document is None:
            return []
        lenses, text = [], document.text.strip()
        if is_command(text):
            lenses.append(_lens("Run", protocol.SLASH, {"line": text}))
        elif text:
            lenses.append(_lens("Send", protocol.TURN, {"document": document.uri, "wait": False}))
        if any(session.busy for session in self._services.sessions.all()):
            lenses.append(_lens("Cancel", protocol.CANCEL, {}))
        return lenses

    def _watch(self, envelope: Envelope) -> None:
        """A listener of the bus."""
        if not envelope.job and isinstance(envelope.event, TurnStarted | TurnEnded):
            self._link.request_soon(types.WORKSPACE_CODE_LENS_REFRESH)


def _lens(title: str, name: str, argument: dict[str, object]) -> types.CodeLens:
    return types.CodeLens(_TOP, types.Command(title=title, command=name, arguments=[argument]))
