"""Commands about whole conversations, and slash lines."""

from pathlib import Path
from typing import Any

import msgspec

from smith_server.core.errors import failure
from smith_server.core.events import Envelope
from smith_server.lsp.arguments import chosen, decode
from smith_server.lsp.convert import payload
from smith_server.lsp.protocol import ConversationsArguments, SlashAnswer, SlashArguments
from smith_server.lsp.roots import Roots
from smith_server.lsp.stream import EventStream
from smith_server.lsp.wire import Arrival
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.store.lease import facts


class Conversations:
    """`smith.conversations` and `smith.slash`."""

    def __init__(self, services: Services, roots: Roots, stream: EventStream) -> None:
        self._services = services
        self._roots = roots
        self._stream = stream

    async def conversations(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """List, begin, open, copy, rename, remove or take over conversations of the project."""
        args = decode(argument, ConversationsArguments)
        operations = {
            "list": self._list,
            "new": self._new,
            "load": self._load,
            "page": self._load,
            "rename": self._rename,
            "fork": self._fork,
            "delete": self._delete,
            "take_over": self._take_over,
        }
        return await chosen(args.op, operations)(args)

    async def _list(self, args: ConversationsArguments) -> dict[str, Any]:
        root = None if args.all else self._root(args)
        rows = await self._services.library.listed(root, args.limit, args.cursor)
        answer: dict[str, Any] = {"conversations": [msgspec.to_builtins(row) for row in rows]}
        return {**answer, "next": rows[-1].used} if rows and len(rows) == args.limit else answer

    async def _new(self, args: ConversationsArguments) -> dict[str, Any]:
        return await self._shown(await self._services.sessions.new(self._root(args)), args)

    async def _load(self, args: ConversationsArguments) -> dict[str, Any]:
        session = await self._services.sessions.get(args.conversation, self._root(args), here=args.here)
        return await self._shown(session, args)

    async def _take_over(self, args: ConversationsArguments) -> dict[str, Any]:
        return await self._shown(await self._services.sessions.take_over(self._named(args)), args)

    async def _fork(self, args: ConversationsArguments) -> dict[str, Any]:
        to = self._root(args) if args.here else None
        source = args.conversation or (await self._services.sessions.get("", self._root(args))).id
        return await self._shown(await self._services.sessions.fork(source, args.message, to), args)

    async def _rename(self, args: ConversationsArguments) -> dict[str, Any]:
        if not args.title.strip():
            raise failure("schema", "invalid_arguments", "rename needs a `title`.")
        name = args.conversation or (await self._services.sessions.get("", self._root(args))).id
        await self._services.sessions.rename(name, args.title.strip())
        return {"conversation": name, "title": args.title.strip()}

    async def _delete(self, args: ConversationsArguments) -> dict[str, Any]:
        """Where it was open, another one takes its place."""
        name = self._named(args)
        known = self._services.sessions.known(name)
        root = known.root if known is not None else self._root(args)
        if not await self._services.sessions.delete(name):
            return {"deleted": name}
        return {"deleted": name, **await self._shown(await self._services.sessions.get("", root), args)}

    async def _shown(self, session: Session, args: ConversationsArguments) -> dict[str, Any]:
        """A page of a conversation as events; the newest one with all that is not stored as messages."""
        page = await self._services.sessions.replay(session, args.before, max(1, args.limit))
        # From here on nothing waits, so that what is told next is no part of the answer.
        self._stream.flush()
        events = list(page.events)
        if not args.before:
            events += [Envelope(session.id, session.turn, event) for event in session.line.waiting()]
            events += self._services.standing(session.id).late()
            self._services.advise(session)
        answer: dict[str, Any] = {
            "conversation": session.id,
            "root": str(session.root),
            "title": session.title,
            "events": [payload(event) for event in events],
            "busy": session.busy,
            "seq": self._stream.seq,
        }
        if page.before:
            answer["before"] = page.before
        if session.holder is not None:
            answer["holder"] = facts(session.holder)
        return answer

    def _named(self, args: ConversationsArguments) -> str:
        if not args.conversation:
            raise failure("schema", "invalid_arguments", f"{args.op} needs a `conversation`.")
        return args.conversation

    def _root(self, args: ConversationsArguments) -> Path:
        asked = Path(args.root) if args.root else None
        return self._roots.of(asked) or self._roots.first()

    async def slash(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Run one command line; a command that fails is an answer, not an error of the wire."""
        args = decode(argument, SlashArguments)
        session = await self._services.sessions.get(args.conversation, self._roots.first())
        result = await self._services.run_line(args.line, session)
        return msgspec.to_builtins(
            SlashAnswer(
                result.error is None,
                result.text,
                result.data,
                {"type": "pager", "title": result.title, "format": result.format, "content": result.page}
                if result.page
                else {},
                msgspec.to_builtins(result.error) if result.error else None,
            )
        )
