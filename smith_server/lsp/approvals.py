"""Questions on the wire: answered with `smith.answer`, or asked as a standard message request."""

import asyncio
from typing import Any

from lsprotocol import types

from smith_server.core.errors import AgentFailure, failure
from smith_server.core.events import ApprovalAnswered, ApprovalAsked, Envelope
from smith_server.lsp.arguments import decode
from smith_server.lsp.link import Link
from smith_server.lsp.protocol import AnswerArguments
from smith_server.lsp.wire import Arrival
from smith_server.runtime.services import Services

_CHOICES = {"Yes": "yes", "No": "no", "Always in this session": "always"}
_MOST_SHOWN = 4000


async def answer(services: Services, argument: dict[str, Any], arrival: Arrival) -> Any:
    """`smith.answer`: the first answer counts."""
    args = decode(argument, AnswerArguments)
    for session in services.sessions.all():
        if session.approvals.knows(args.id):
            return {"state": session.approvals.answer(args.id, args.decision, args.feedback)}
    raise failure("policy", "unknown_id", "There is no such question.")


class MessageQuestions:
    """Asks clients that know nothing of our events, through `window/showMessageRequest`."""

    def __init__(self, services: Services, link: Link) -> None:
        self._services = services
        self._link = link
        self._asking: dict[str, asyncio.Task[None]] = {}

    def take(self, envelope: Envelope) -> None:
        """A listener of the bus."""
        match envelope.event:
            case ApprovalAsked() as event:
                self._asking[event.id] = asyncio.ensure_future(self._ask(envelope.conversation, event))
            case ApprovalAnswered(id):
                if (task := self._asking.pop(id, None)) is not None:
                    task.cancel()

    async def _ask(self, conversation: str, event: ApprovalAsked) -> None:
        detail = f"\n\n{event.diff}"[:_MOST_SHOWN] if event.diff else ""
        saves = f"\nIt saves first: {', '.join(event.saves)}" if event.saves else ""
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=f"smith wants to run {event.name}: {event.title}{saves}{detail}",
            actions=[types.MessageActionItem(title=title) for title in _CHOICES],
        )
        try:
            picked = await self._link.ask_plain(types.WINDOW_SHOW_MESSAGE_REQUEST, params)
        except AgentFailure:
            picked = None
        title = getattr(picked, "title", None) or (picked or {}).get("title", "No")
        session = self._services.sessions.known(conversation)
        if session is not None and session.approvals.pending(event.id):
            session.approvals.answer(event.id, _CHOICES.get(title, "no"))
