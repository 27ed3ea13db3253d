"""Binds the runtime to one connection: every command, the event stream, the editor port."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from lsprotocol import types

from smith_server.core.editor import Change, Editor
from smith_server.core.ports import Approver
from smith_server.core.printable import printable
from smith_server.lsp import protocol
from smith_server.lsp.actions import Actions
from smith_server.lsp.approvals import MessageQuestions, answer
from smith_server.lsp.completion import Completions
from smith_server.lsp.conversations import Conversations
from smith_server.lsp.editor import Buffers, ConversationEditor
from smith_server.lsp.inspect import Inspect
from smith_server.lsp.jobs import Jobs
from smith_server.lsp.lenses import Lenses
from smith_server.lsp.prompts import PromptDocuments
from smith_server.lsp.proposals import Proposals
from smith_server.lsp.protocol import ChangeState, EditReceipt
from smith_server.lsp.server import Connection
from smith_server.lsp.status import Status
from smith_server.lsp.stream import EventStream
from smith_server.lsp.turns import Turns
from smith_server.lsp.wire import Command
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session

_MOST_REMEMBERED = 1000
_SAID = {
    "undone": "The user took your edit of {} back in the editor. Read the file before you change it again.",
    "redone": "The user made your edit of {} again, after having taken it back.",
}


class LspFace:
    """The runtime's view of this face: an editor per conversation."""

    def __init__(self, connection: Connection) -> None:
        self.name = printable(connection.link.client.name) or "editor"
        self.proposals = Proposals(connection.link)
        self._buffers = Buffers(connection.documents, connection.link, self.proposals)
        self._made: dict[str, tuple[Session, Change, str]] = {}

    def editor(self, session: Session) -> Editor:
        """The open buffers, as this conversation may use them."""
        return ConversationEditor(self._buffers, session.emit, lambda change: self._remember(session, change))

    def _remember(self, session: Session, change: Change) -> None:
        self._made[change.id] = (session, change, "")
        while len(self._made) > _MOST_REMEMBERED:
            del self._made[next(iter(self._made))]

    def change_state(self, params: ChangeState) -> None:
        """The person took a change back, or made it again: the model hears of it with its next request."""
        if params.change not in self._made or params.state not in _SAID:
            return
        session, change, said = self._made[params.change]
        if said == params.state:
            return
        self._made[params.change] = (session, change, params.state)
        session.line.inbox.note(f"[{_SAID[params.state].format(change.path.name)}]")

    def approver(self, session: Session) -> Approver:
        """Questions are events; the answer comes back as a command."""
        return session.approvals


class LspCommands:
    """The commands of one connection; see `lsp/server.py` for what it promises."""

    def __init__(self, services: Services, connection: Connection, face: LspFace) -> None:
        self._services = services
        self._face = face
        link, roots = connection.link, connection.roots
        self._stream = EventStream(lambda body: link.notify(protocol.EVENT, body), lambda: connection.out.backlog)
        prompts = PromptDocuments(connection.documents, link, services.folder("prompts"))
        turns = Turns(services, roots, link, prompts)
        completions = Completions(services, roots, prompts, connection.documents)
        conversations = Conversations(services, roots, self._stream)
        status = Status(services, roots, self._stream)
        self.table: dict[str, Command] = {
            protocol.TURN: turns.turn,
            protocol.STEER: turns.steer,
            protocol.CANCEL: turns.cancel,
            protocol.ANSWER: lambda argument, arrival: answer(services, argument, arrival),
            protocol.SLASH: conversations.slash,
            protocol.INSPECT: Inspect(services, roots).inspect,
            protocol.QUEUE: status.queue,
            protocol.CONVERSATIONS: conversations.conversations,
            protocol.JOBS: Jobs(services, roots).jobs,
            protocol.STATUS: status.status,
            protocol.COMPLETE: completions.complete,
            protocol.PROMPT: prompts.open,
        }
        self.features: dict[str, Callable[[Any], Awaitable[Any]]] = {
            types.TEXT_DOCUMENT_COMPLETION: completions.in_document,
            types.TEXT_DOCUMENT_CODE_LENS: Lenses(services, prompts, link).in_document,
            types.TEXT_DOCUMENT_CODE_ACTION: Actions(prompts, link).in_document,
        }
        self.notifications: dict[str, Callable[[dict[str, Any]], None]] = {
            protocol.EDIT_DONE: self._edit_done,
            protocol.CHANGE_STATE: self._change_state,
        }
        listener = self._stream.take if link.client.events else MessageQuestions(services, link).take
        services.bus.subscribe(listener)
        services.warm(roots.first())

    async def close(self) -> None:
        """Cancel, store, end the children."""
        await self._services.close("the editor is gone")

    def _edit_done(self, params: dict[str, Any]) -> None:
        self._face.proposals.edit_done(msgspec.convert(params, EditReceipt))

    def _change_state(self, params: dict[str, Any]) -> None:
        self._face.change_state(msgspec.convert(params, ChangeState))
