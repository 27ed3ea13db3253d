"""`smith.inspect`: stored messages listed, edited, removed, and what would be sent of them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from smith_server.core.errors import failure
from smith_server.core.estimate import characters, tokens
from smith_server.core.messages import Message
from smith_server.lsp.arguments import chosen, decode
from smith_server.lsp.convert import message_facts
from smith_server.lsp.protocol import InspectArguments
from smith_server.lsp.roots import Roots
from smith_server.lsp.wire import Arrival
from smith_server.runtime.line import Prompt
from smith_server.runtime.outlook import NextRequest
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.store.messages import message_hash


class Inspect:
    """The command."""

    def __init__(self, services: Services, roots: Roots) -> None:
        self._services = services
        self._roots = roots

    async def inspect(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Look at the messages of a conversation or change them."""
        args = decode(argument, InspectArguments)
        operations = {"list": self._list, "edit": self._edit, "delete": self._delete, "request": self._request}
        work = chosen(args.op, operations)
        session = await self._services.sessions.get(args.conversation, self._roots.first())
        return {"conversation": session.id, **await work(session, args)}

    async def _list(self, session: Session, args: InspectArguments) -> dict[str, Any]:
        await self._services.bus.told()
        limit, library = max(1, args.limit), self._services.library
        if args.job:
            messages = await library.child_messages(session.id, args.job, limit, args.before)
            before = messages[0].id if len(messages) == limit else ""
            return {"messages": [_listed(each) for each in messages], "before": before}
        page = await library.page(session.id, limit, args.before)
        jobs = [msgspec.to_builtins(job) for facts in page.turns.values() for job in facts.jobs]
        messages = [each.message for each in page.said if not each.job]
        return {"messages": [_listed(each) for each in messages], "jobs": jobs, "before": page.before}

    async def _edit(self, session: Session, args: InspectArguments) -> dict[str, Any]:
        changed = await self._services.edit_message(session, _named(args), args.text, args.expect)
        return {"message": _listed(changed)}

    async def _delete(self, session: Session, args: InspectArguments) -> dict[str, Any]:
        return {"deleted": list(await self._services.delete_message(session, _named(args), args.expect))}

    async def _request(self, session: Session, args: InspectArguments) -> dict[str, Any]:
        found = await self._services.next_request(session, Prompt(args.text))
        return {
            "provider": found.provider,
            "request": msgspec.to_builtins(found.request),
            "parts": _parts(found),
            "tokens": found.shown.estimate,
            "ceiling": found.ceiling,
            "is_compacted_first": found.shown.estimate > found.trigger,
            "elided": found.shown.elided,
            "dropped": found.shown.dropped,
        }


def _named(args: InspectArguments) -> str:
    if not args.message:
        raise failure("schema", "invalid_arguments", f"{args.op} needs a `message`.")
    return args.message


def _listed(message: Message) -> dict[str, Any]:
    return {
        **message_facts(message),
        "content": msgspec.to_builtins(message),
        "hash": message_hash(message),
        "size": characters(message),
    }


def _parts(found: NextRequest) -> Sequence[dict[str, Any]]:
    """What the request is made of, in order, and how much each is; tokens are estimates."""
    request, shown = found.request, found.shown
    factor = shown.estimate * 4 / shown.characters if shown.characters else 1.0
    sizes = [("system", len(request.system)), ("tools", len(msgspec.json.encode(request.tools)))]
    sizes += [(message.id or "prompt", characters(message)) for message in request.messages]
    return [{"part": part, "size": size, "tokens": tokens(size, factor)} for part, size in sizes]
