"""`smith chat`: a conversation in plain lines on a terminal."""

import argparse
import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from smith_server.cli.garbage import collect_later
from smith_server.cli.log import start_log
from smith_server.cli.run import FAILED, Headless, Printer, printable
from smith_server.cli.start import options_from
from smith_server.config.paths import project_root
from smith_server.core.errors import AgentFailure
from smith_server.core.events import ApprovalAsked, Envelope
from smith_server.core.ports import Approver
from smith_server.runtime.commands.table import run_line
from smith_server.runtime.outcome import TurnOutcome
from smith_server.runtime.services import Options, Services
from smith_server.runtime.session import Prompt, Session

_KEYS = {"y": "yes", "n": "no", "a": "always"}


class Terminal(Headless):
    """No editor, and the person at this terminal."""

    name = "a terminal"

    def approver(self, session: Session) -> Approver:
        return session.approvals


def chat(words: argparse.Namespace) -> int:
    """Talk until the end of input; the exit code."""
    start_log()
    options = options_from(words, resume=words.resume)
    try:
        code = asyncio.run(Chat(words, options).run())
    except AgentFailure as problem:
        print(f"smith: {problem.error.message}", file=sys.stderr)
        code = FAILED
    sys.stdout.flush()
    os._exit(code)


class Chat:
    """One line at a time: a prompt, a command, or the answer to a question."""

    def __init__(self, words: argparse.Namespace, options: Options) -> None:
        self._options = options
        self._services = Services(options, Terminal())
        self._question: ApprovalAsked | None = None
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    async def run(self) -> int:
        """The conversation; the exit code."""
        collect_later()
        await self._services.open()
        root = project_root(Path.cwd())
        printer = Printer()
        self._services.bus.subscribe(printer.take)
        self._services.bus.subscribe(self._watch)
        session = await self._services.session("", root)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, lambda: self._interrupt(session))
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()
        print("smith: type a prompt, /help for commands, Ctrl-C to stop a turn, Ctrl-D to leave.", file=sys.stderr)
        while (line := await self._next("\n> ")) is not None:
            session = await self._take(line, session)
        await self._services.close("the terminal was left")
        return 0

    async def _take(self, line: str, session: Session) -> Session:
        if not line.strip():
            return session
        if line.startswith("/") and not line.startswith("//"):
            return await self._command(line, session)
        text = line[1:] if line.startswith("//") else line
        ticket = await session.submit(Prompt(text, cwd=Path.cwd()))
        while not ticket.done.done():
            await self._wait(ticket.done, session)
        return session

    async def _command(self, line: str, session: Session) -> Session:
        result = await run_line(line, session, self._services)
        shown = result.error.message if result.error else result.page or result.text
        print(printable(shown), flush=True)
        name = str(result.data.get("conversation", ""))
        return self._services.known(name) or session

    async def _wait(self, done: asyncio.Future[TurnOutcome], session: Session) -> None:
        """Until the turn ends or the person answers a question."""
        answer = asyncio.ensure_future(self._lines.get())
        both: list[asyncio.Future[Any]] = [done, answer]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            return
        line = answer.result()
        if line is None:
            self._lines.put_nowait(None)
            await session.cancel()
        elif self._question is not None and session.approvals.pending(self._question.id):
            decision = _KEYS.get(line.strip().lower()[:1], "no")
            session.approvals.answer(self._question.id, decision)
        elif line.strip():
            await session.submit(Prompt(line, cwd=Path.cwd()))

    def _watch(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, ApprovalAsked):
            self._question = envelope.event
            event = envelope.event
            if event.diff:
                print(printable(event.diff), file=sys.stderr)
            saves = f" (saves first: {', '.join(event.saves)})" if event.saves else ""
            print(printable(f"{event.name}: {event.title}{saves}"), file=sys.stderr)
            print("run it? y yes, n no, a always in this session: ", end="", file=sys.stderr, flush=True)

    def _interrupt(self, session: Session) -> None:
        if session.busy:
            self._stopping = asyncio.ensure_future(session.cancel())
        else:
            self._lines.put_nowait(None)

    async def _next(self, prompt: str) -> str | None:
        print(prompt, end="", file=sys.stderr, flush=True)
        return await self._lines.get()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(self._lines.put_nowait, None)
