"""Commands about conversations: list, new, load, page, inspect, slash lines, status."""

from typing import Any

import msgspec

from smith_server.core.errors import failure
from smith_server.core.events import Envelope, PromptQueued
from smith_server.lsp.convert import message_facts, payload
from smith_server.lsp.protocol import (
    ConversationsArguments,
    InspectArguments,
    SlashAnswer,
    SlashArguments,
    StatusArguments,
)
from smith_server.lsp.roots import Roots
from smith_server.lsp.stream import EventStream
from smith_server.lsp.wire import Arrival, decode
from smith_server.runtime.inspect import page
from smith_server.runtime.replay import as_events
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session


class Conversations:
    """`smith.conversations`, `smith.inspect`, `smith.slash`, `smith.status`."""

    def __init__(self, services: Services, roots: Roots, stream: EventStream) -> None:
        self._services = services
        self._roots = roots
        self._stream = stream

    async def conversations(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """List, begin or open conversations of the project."""
        args = decode(argument, ConversationsArguments)
        match args.op:
            case "list":
                rows = await self._services.library.listed(self._roots.first(), args.limit)
                return {"conversations": [msgspec.to_builtins(row) for row in rows]}
            case "new":
                session = await self._services.new_session(self._roots.first())
                return {"conversation": session.id, "events": []}
            case "load" | "page":
                return await self._load(args)
        raise failure("schema", "invalid_arguments", f"op {args.op!r} is not one of list, new, load, page")

    async def _load(self, args: ConversationsArguments) -> dict[str, Any]:
        session = await self._services.session(args.conversation, self._roots.first())
        messages, before = page(session.talk.messages, args.before, args.limit)
        events = [payload(Envelope(session.id, turn, event)) for turn, event in as_events(messages, session.turn)]
        if not args.before:
            in_line = (PromptQueued(id=name, text=text) for name, text in session.waiting())
            events += [payload(Envelope(session.id, session.turn, event)) for event in in_line]
        answer: dict[str, Any] = {"conversation": session.id, "events": events, "busy": session.busy}
        return {**answer, "before": before} if before else answer

    async def inspect(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """The stored messages of a conversation, newest page first."""
        args = decode(argument, InspectArguments)
        if args.op != "list":
            raise failure("schema", "invalid_arguments", f"op {args.op!r} is not one of list")
        session = await self._session(args.conversation)
        messages, before = page(session.talk.messages, args.before, args.limit)
        facts = [{**message_facts(each), "content": msgspec.to_builtins(each)} for each in messages]
        return {"conversation": session.id, "messages": facts, "before": before}

    async def slash(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Run one command line; a command that fails is an answer, not an error of the wire."""
        args = decode(argument, SlashArguments)
        session = await self._session(args.conversation)
        result = await self._services.run_line(args.line, session)
        return msgspec.to_builtins(
            SlashAnswer(
                result.error is None,
                result.text,
                result.data,
                {"type": "pager", "title": result.title, "format": "markdown", "content": result.page}
                if result.page
                else {},
                msgspec.to_builtins(result.error) if result.error else None,
            )
        )

    async def status(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """What runs and what waits for a person; with `since` the events that were missed."""
        args = decode(argument, StatusArguments)
        sessions = [self._status(session) for session in self._services.sessions()]
        answer: dict[str, Any] = {"seq": self._stream.seq, "sessions": sessions}
        if isinstance(args.since, int):
            events = self._stream.since(args.since)
            answer |= {"resync": True} if events is None else {"events": events}
        return answer

    def _status(self, session: Session) -> dict[str, Any]:
        return {
            "conversation": session.id,
            "root": str(session.root),
            "busy": session.busy,
            "turn": session.turn,
            "waiting": [text for _, text in session.waiting()],
            "attention": session.approvals.questions(),
        }

    async def _session(self, conversation: str) -> Session:
        return await self._services.session(conversation, self._roots.first())
