"""`smith chat` in plain lines, from a pipe as well."""

import argparse
import asyncio
import os
import signal
import sys
import threading
from typing import TextIO

from smith_server.cli.plain import Printer
from smith_server.cli.run import exit_code
from smith_server.cli.signals import ENDING, Stop
from smith_server.cli.start import begun, here, opened, options_from
from smith_server.cli.streams import FAILED, INTERRUPTED, Output, leave
from smith_server.cli.terminal import Terminal, can_draw, how_to_go_on, resumed
from smith_server.cli.waiting import Sign
from smith_server.core import news
from smith_server.core.errors import AgentFailure
from smith_server.core.events import ApprovalAnswered, ApprovalAsked, Envelope
from smith_server.runtime.line import Prompt
from smith_server.runtime.outcome import TurnOutcome
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.runtime.typed import is_command, leaves, spoken
from smith_server.store.lease import facts
from smith_server.tui.interrupt import Presses

_ANSWERS = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "a": "always", "always": "always"}


class Lines:
    """A line is a prompt, a command, or the answer to the question that waits, whenever it comes."""

    def __init__(self, words: argparse.Namespace, answers: TextIO) -> None:
        self._words = words
        self._output = Output(answers, lambda problem: self._leave())
        self._is_attended = sys.stdin.isatty() and sys.stderr.isatty()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._running: set[asyncio.Future[TurnOutcome]] = set()
        self._questions: list[ApprovalAsked] = []
        self._session: Session | None = None
        self._cancelling: asyncio.Task[object] | None = None
        self._presses = Presses()
        self._code = 0

    async def code(self) -> int:
        """Talk; the exit code. From a pipe it is the one of the last prompt."""
        stop = Stop(self._leave)
        stop.watch(*ENDING)
        try:
            options = options_from(self._words, resume=self._words.resume or None)
            async with opened(options, Terminal(self._is_attended)) as services:
                session = await self._talk(services)
        except AgentFailure as problem:
            self._output.note(f"smith: {problem.error.message}")
            return stop.code or FAILED
        if session.talk.messages:
            self._output.note(f"\n{how_to_go_on(session)}")
        return stop.code or self._code

    async def _talk(self, services: Services) -> Session:
        loop = asyncio.get_running_loop()
        if self._is_attended and not can_draw(os.environ):
            sign = Sign(_on_terminal)
            self._output.before = sign.clear
            services.bus.subscribe(sign.take)
        services.bus.subscribe(Printer(self._output).take)
        services.bus.subscribe(self._watch)
        session = self._session = await begun(services, self._words, self._output.note)
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()
        if self._is_attended:
            if session.talk.messages:
                self._output.note(f"smith: {resumed(session)}")
            if session.holder is not None:
                self._output.note(f"smith: {news.elsewhere(facts(session.holder))}")
            self._output.note("smith: type a prompt, /help for commands. Ctrl-C stops a turn, Ctrl-D leaves.")
            services.advise(session)
        self._ask_for_line()
        while (line := await self._lines.get()) is not None:
            if leaves(line):
                break
            session = self._session = await self._take(line.strip(), session, services)
            self._ask_for_line()
        return session

    async def _take(self, line: str, session: Session, services: Services) -> Session:
        """Do what a line says; the conversation to go on with."""
        if self._questions and line.lower() in _ANSWERS:
            session.approvals.answer(self._questions.pop(0).id, _ANSWERS[line.lower()])
        elif is_command(line):
            return await self._command(line, session, services)
        elif line:
            await self._send(spoken(line), session)
        return session

    async def _send(self, text: str, session: Session) -> None:
        try:
            ticket = await session.submit(Prompt(text, cwd=here()))
        except AgentFailure as problem:
            if not self._is_attended:
                raise
            self._output.note(f"smith: {problem.error.message}")
            return
        self._running.add(ticket.done)
        ticket.done.add_done_callback(self._ended)
        if not self._is_attended:
            # Nobody types meanwhile: the next line is meant for what this one leads to.
            await asyncio.wait([ticket.done])

    async def _command(self, line: str, session: Session, services: Services) -> Session:
        result = await services.run_line(line, session)
        shown = result.error.message if result.error else result.page or result.text
        self._output.answer(f"{shown}\n")
        return services.sessions.known(str(result.data.get("conversation", ""))) or session

    def _ended(self, done: asyncio.Future[TurnOutcome]) -> None:
        self._running.discard(done)
        if not self._is_attended:
            self._code = exit_code(done.result())
        self._ask_for_line()

    def _watch(self, envelope: Envelope) -> None:
        """A listener of the bus, for questions."""
        match envelope.event:
            case ApprovalAsked() as event:
                self._questions.append(event)
                saves = f" (saves first: {', '.join(event.saves)})" if event.saves else ""
                self._output.note(f"{event.diff}\n{event.name}: {event.title}{saves}".lstrip("\n"))
                self._ask_for_line()
            case ApprovalAnswered(id):
                self._questions = [asked for asked in self._questions if asked.id != id]

    def _ask_for_line(self) -> None:
        """Show what is waited for, if anything is."""
        if not self._is_attended or self._session is None:
            return
        if self._questions:
            always = f"always run {self._questions[0].name} in this session"
            self._output.note(f"run it? y yes, n no, a {always}: ", end="")
        elif not self._session.busy:
            self._output.note("\n> ", end="")

    def _interrupted(self) -> None:
        match self._presses.press(asyncio.get_running_loop().time(), runs=bool(self._running), is_empty=False):
            case "stop":
                self._cancel()
            case "clear":
                self._output.note("\nsmith: Ctrl-C again, or Ctrl-D, leaves.")
                self._ask_for_line()
            case "leave":
                self._code = self._presses.code
                self._leave()
            case "end":
                leave(INTERRUPTED)

    def _cancel(self) -> None:
        if self._session is not None:
            self._cancelling = asyncio.ensure_future(self._session.cancel())

    def _leave(self) -> None:
        self._cancel()
        self._lines.put_nowait(None)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(self._lines.put_nowait, line)
        loop.call_soon_threadsafe(self._lines.put_nowait, None)


def _on_terminal(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
