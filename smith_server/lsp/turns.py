"""The commands that run, steer and stop a turn."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from lsprotocol import types

from smith_server.context.attached import Attached, in_words
from smith_server.core.errors import failure, public
from smith_server.core.events import CallStarted, Envelope
from smith_server.lsp.arguments import decode
from smith_server.lsp.documents import Snapshot, uri_path
from smith_server.lsp.link import Link
from smith_server.lsp.prompts import PromptDocuments
from smith_server.lsp.protocol import (
    CancelAnswer,
    CancelArguments,
    Diagnostic,
    SteerArguments,
    TurnAnswer,
    TurnArguments,
    TurnContext,
)
from smith_server.lsp.roots import Roots
from smith_server.lsp.wire import Arrival
from smith_server.runtime.line import Prompt, Ticket
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session

_SEVERITIES = {each.value: each.name.lower() for each in types.DiagnosticSeverity}
MOST_TOLD = 4000
"""Characters of an answer that is told in a message."""


class _Stop:
    """What a cancel of the request does: end its turn, at once or as soon as there is one."""

    def __init__(self) -> None:
        self._target: tuple[Session, Ticket] | None = None
        self._is_requested = False
        self._task: asyncio.Task[None] | None = None

    def request(self) -> None:
        self._is_requested = True
        self._go()

    def aim(self, session: Session, ticket: Ticket) -> None:
        self._target = (session, ticket)
        self._go()

    def _go(self) -> None:
        if self._is_requested and self._target is not None:
            session, ticket = self._target
            self._task = asyncio.ensure_future(session.cancel_ticket(ticket))


class Turns:
    """`smith.turn`, `smith.steer`, `smith.cancel`."""

    def __init__(self, services: Services, roots: Roots, link: Link, prompts: PromptDocuments) -> None:
        self._services = services
        self._roots = roots
        self._link = link
        self._prompts = prompts
        self._telling: set[asyncio.Future[None]] = set()
        self._arriving: set[asyncio.Future[None]] = set()

    async def turn(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Run a prompt; the answer comes after the last event of its turn, however that ended."""
        args = decode(argument, TurnArguments)
        _refuse_unsupported(args)
        args = self._with_document(args)
        stop = _Stop()
        arrival.on_cancel(stop.request)
        session, ticket = await self._submitted(args, arrival)
        if not args.wait:
            self._tell(ticket)
            turn = "" if ticket.waited else await ticket.begun
            return msgspec.to_builtins(TurnAnswer(session.id, turn, ticket.id if ticket.waited else ""))
        stop.aim(session, ticket)
        end_progress = self._progress(session, arrival.progress_token)
        try:
            outcome = await ticket.done
        finally:
            end_progress()
        error = msgspec.to_builtins(public(outcome.error)) if outcome.error else None
        usage = msgspec.to_builtins(outcome.usage)
        return msgspec.to_builtins(
            TurnAnswer(session.id, outcome.turn, "", outcome.stop_reason, outcome.text, error, usage)
        )

    def _with_document(self, args: TurnArguments) -> TurnArguments:
        """The text and the place of the prompt document that is meant, if one is."""
        if not args.document:
            if not args.text.strip():
                raise failure("schema", "invalid_arguments", "the prompt is empty")
            return args
        text, context = self._prompts.prompt(args.document)
        return msgspec.structs.replace(args, text=text.removeprefix("/"), context=context)

    def _tell(self, ticket: Ticket) -> None:
        """A client that takes no events would never learn what became of a turn that it does not wait for."""
        if self._link.client.events:
            return
        telling = asyncio.ensure_future(self._told(ticket))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    async def _told(self, ticket: Ticket) -> None:
        outcome = await ticket.done
        kind = types.MessageType.Error if outcome.error else types.MessageType.Info
        text = outcome.error.message if outcome.error else outcome.text or f"The turn is {outcome.stop_reason}."
        self._link.notify(types.WINDOW_SHOW_MESSAGE, {"type": kind.value, "message": text[:MOST_TOLD]})

    async def steer(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Say something to the running turn; without one it is the next prompt."""
        args = decode(argument, SteerArguments)
        session = await self._services.sessions.get(args.conversation, self._roots.first())
        name = await session.steer(args.text)
        return {"conversation": session.id, "turn": session.turn, "id": name}

    async def cancel(self, argument: dict[str, Any], arrival: Arrival) -> Any:
        """Stop; answered when everything has stopped."""
        args = decode(argument, CancelArguments)
        if self._arriving:
            # A prompt that came first is meant too, though its conversation is still being opened.
            await asyncio.wait(self._arriving)
        if args.job:
            return msgspec.to_builtins(await self._services.cancel_job(args.job))
        session = self._services.running(args.conversation, args.turn)
        if session is None:
            return msgspec.to_builtins(CancelAnswer(False))
        return msgspec.to_builtins(await session.cancel())

    async def _submitted(self, args: TurnArguments, arrival: Arrival) -> tuple[Session, Ticket]:
        arriving = asyncio.get_running_loop().create_future()
        self._arriving.add(arriving)
        try:
            session = await self._session(args)
            if args.role:
                self._services.require_role(args.role)
            attached = _attached(args.context, arrival.documents)
            prompt = Prompt(args.text, args.model, _cwd(args.context), attached, args.role)
            return session, await session.submit(prompt, queue=args.queue)
        finally:
            self._arriving.discard(arriving)
            arriving.set_result(None)

    async def _session(self, args: TurnArguments) -> Session:
        path = uri_path(args.context.uri) if args.context.uri else None
        root = self._roots.of(path) if path else None
        root = root or self._roots.of(_cwd(args.context)) or self._roots.first()
        return await self._services.sessions.get(args.conversation, root)

    def _progress(self, session: Session, token: str | int | None) -> Callable[[], None]:
        """Standard progress of a turn; the answer ends it."""
        if token is None:
            return lambda: None

        def send(value: dict[str, Any]) -> None:
            self._link.notify(types.PROGRESS, {"token": token, "value": value})

        def watch(envelope: Envelope) -> None:
            if envelope.conversation == session.id and isinstance(envelope.event, CallStarted):
                send({"kind": "report", "message": envelope.event.name})

        send({"kind": "begin", "title": "smith", "cancellable": True})
        leave = self._services.bus.subscribe(watch)

        def end() -> None:
            leave()
            send({"kind": "end"})

        return end


def _refuse_unsupported(args: TurnArguments) -> None:
    for name in ("mode", "attachments"):
        if getattr(args, name):
            raise failure("schema", "not_supported", f"This version of smith takes no `{name}` with a prompt.")


def _cwd(context: TurnContext) -> Path | None:
    return Path(context.cwd) if context.cwd else None


def _attached(context: TurnContext, documents: Snapshot) -> str:
    """What the person pointed at, as the documents were when they sent the prompt."""
    path = uri_path(context.uri) if context.uri else None
    if path is None:
        return ""
    selection = context.selection
    lines = (context.range.start.line + 1, context.range.end.line + 1) if context.range else None
    document = documents.get(context.uri)
    problems = tuple(map(_problem, context.diagnostics))
    if not selection and context.range and document and context.range.start != context.range.end:
        selection = "".join(document.lines[context.range.start.line : context.range.end.line + 1])
    return in_words(Attached(str(path), lines, selection, problems))


def _problem(diagnostic: Diagnostic) -> str:
    kind = _SEVERITIES.get(diagnostic.severity or 0, "")
    source = f"from {diagnostic.source}" if diagnostic.source else ""
    code = f"({diagnostic.code})" if diagnostic.code is not None else ""
    head = " ".join(part for part in (kind, source, code) if part)
    place = f"line {diagnostic.range.start.line + 1}"
    return f"{place}: {head}: {diagnostic.message}" if head else f"{place}: {diagnostic.message}"
