"""`smith.status` and `smith.queue`: what runs, what waits in line, and what waits for a person."""

from typing import Any

import msgspec

from smith_server.lsp.arguments import decode, unknown_operation
from smith_server.lsp.convert import payload
from smith_server.lsp.protocol import QueueArguments, SessionStatus, StatusArguments
from smith_server.lsp.roots import Roots
from smith_server.lsp.stream import EventStream
from smith_server.lsp.wire import Arrival
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.store.lease import facts


class Status:
    """The two commands."""

    def __init__(self, services: Services, roots: Roots, stream: EventStream) -> None:
        self._services = services
        self._roots = roots
        self._stream = stream

    async def status(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """What runs and what waits for a person; with `since` the events that were missed."""
        args = decode(argument, StatusArguments)
        self._stream.flush()
        sessions = list(self._services.sessions.all())
        asked = [each for session in sessions for each in self._services.standing(session.id).questions.values()]
        answer: dict[str, Any] = {
            "seq": self._stream.seq,
            "sessions": [msgspec.to_builtins(self._of(session)) for session in sessions],
            "attention": [payload(each) for each in asked],
        }
        if isinstance(args.since, int):
            events = self._stream.since(args.since)
            answer |= {"resync": True} if events is None else {"events": events}
        return answer

    def _of(self, session: Session) -> SessionStatus:
        services, standing = self._services, self._services.standing(session.id)
        return SessionStatus(
            session.id,
            str(session.root),
            session.busy,
            session.turn,
            services.role(session).name,
            services.handles.config.settings(session.root).approval.mode,
            standing.state,
            session.model or standing.model,
            standing.provider,
            session.title,
            msgspec.to_builtins(standing.usage),
            standing.context,
            services.ceiling(session.id),
            standing.cost,
            queue=_queue(session),
            attention=tuple(standing.questions),
            holder=facts(session.holder) if session.holder is not None else None,
        )

    async def queue(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Prompts that wait: list them, give one another text, take one back."""
        args = decode(argument, QueueArguments)
        session = await self._services.sessions.get(args.conversation, self._roots.first())
        answer: dict[str, Any] = {"conversation": session.id}
        match args.op:
            case "list":
                pass
            case "edit":
                await session.edit_waiting(args.id, args.text)
            case "drop":
                answer["text"] = await session.drop_waiting(args.id)
            case _:
                raise unknown_operation(args.op, ("list", "edit", "drop"))
        return {**answer, "prompts": _queue(session)}


def _queue(session: Session) -> tuple[dict[str, Any], ...]:
    return tuple({"id": each.id, "text": each.text, "steers": each.steers} for each in session.line.waiting())
