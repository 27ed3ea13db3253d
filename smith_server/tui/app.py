"""The terminal session: puts keys, conversation and terminal together."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from smith_server.core.errors import AgentFailure
from smith_server.core.events import Envelope
from smith_server.runtime.completion import Completion
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.runtime.typed import is_command, leaves, spoken
from smith_server.tui import shm, status
from smith_server.tui.approval import Panel
from smith_server.tui.beside import Beside
from smith_server.tui.blocks import approval
from smith_server.tui.entry import Entry, Reader
from smith_server.tui.exchange import Exchange
from smith_server.tui.interrupt import INTERRUPTED, Presses
from smith_server.tui.keys import bindings
from smith_server.tui.state import Conversation
from smith_server.tui.surface import Surface
from smith_server.tui.talk import Talk
from smith_server.tui.view import Live, frame


class Surroundings(Struct, frozen=True):
    """What a session is given: its terminal, the environment, the folder of the person, a file for the history."""

    stdin: TextIO
    stdout: int
    environ: Mapping[str, str]
    cwd: Callable[[], Path]
    history: Path | None = None
    greeting: str = ""


class TerminalSession:
    """One session at a terminal, from the first frame to the last. `code` is the exit code it ends with."""

    def __init__(self, services: Services, session: Session, around: Surroundings) -> None:
        self._services = services
        self._around = around
        self._surface = Surface(around.stdin, around.stdout, around.environ, lambda: self._reader.changed())
        self._exchange = Exchange(services, session, self._surface)
        self._panel = Panel()
        self._presses = Presses()
        self._beside = Beside(lambda error: self._talk.failed(error), self._surface.changed)
        self._began: float | None = None
        self._entry = Entry(around.history, self._completed, lambda: self._panel.typed(self._now()))
        self._reader = Reader(self._entry, bindings(self), self._surface.keyboard, self._draw)

    @property
    def code(self) -> int:
        """0, or 130 when a running turn was interrupted by leaving."""
        return self._presses.code

    @property
    def session(self) -> Session:
        """The conversation that is shown."""
        return self._exchange.session

    async def load(self) -> None:
        """Read what there is to show of the conversation; comes before `run`."""
        await self._talk.replay()

    async def run(self) -> None:
        """Talk until the person leaves or the terminal is gone."""
        shm.sweep()
        with self._surface.keyboard.raw_mode():
            try:
                self._begin()
                await self._reader.run()
            finally:
                self.abandon()

    def take(self, envelope: Envelope) -> None:
        """A listener of the bus."""
        if envelope.conversation != self.session.id:
            return
        was_running = self._shown.running
        if self._exchange.take(envelope):
            self._beside.begin(self._exchange.refresh())
        if not self._surface.is_closed:
            self._surface.curtain.take(envelope)
            self._type_returned()
        if self._shown.running != was_running:
            self._began = self._now() if self._shown.running else None
        self._surface.changed()

    def say(self, text: str, level: str = "info") -> None:
        """Tell the person something."""
        self._shown.notice(level, text)
        self._surface.changed()

    def leave(self) -> None:
        """End the session; what runs is stopped by whoever closes the services."""
        self._reader.stop()

    def abandon(self) -> None:
        """Give the terminal back, whatever happens; a signal may call this again while it is being done."""
        if not self._surface.is_given_back:
            self._surface.give_back()
            self.finish()

    def abandon_at_once(self) -> None:
        """As `abandon`, where nothing of `run` will go on: the modes of the terminal first, which always can be set."""
        self._surface.restore_modes()
        self.abandon()

    def finish(self) -> None:
        """Write what came to its end after the last frame."""
        self._surface.print(self._exchange.transcript.finished(self._surface.size.columns))

    # What the keys call; see `keys.Actions`.

    def pages(self) -> bool:
        return self._surface.is_paged

    def asks(self) -> bool:
        return not self.pages() and self._panel.takes_keys

    def is_asked(self) -> bool:
        return self._panel.question is not None

    def turn_page(self, key: str, text: str) -> None:
        self._surface.turn_page(key, text)
        self._reader.edits(not self.pages())

    def answer(self, decision: str) -> None:
        if self._panel.question is not None:
            self._talk.answer(self._panel.question.event.id, decision)

    def view(self) -> None:
        if self._panel.question is not None:
            self._page("Question", approval.whole(self._panel.question))

    def move(self) -> None:
        self._panel.move()

    def insert(self, text: str) -> None:
        self._entry.insert(text)

    def newline(self) -> None:
        self._entry.insert("\n")

    def enter(self) -> None:
        if text := self._entry.take():
            self._panel.sent()
            self._submit(text)

    def complete(self, *, back: bool = False) -> None:
        self._entry.complete(back=back)

    def escape(self) -> None:
        self._entry.close_choices()
        # With nothing typed Esc is meant for the question that is shown, whoever has the other keys.
        if self.asks() or (self.is_asked() and not self._entry.text):
            self.answer("no")
        elif self._talk.busy:
            self._cancel()
        else:
            self._entry.clear()

    def interrupt(self) -> None:
        match self._presses.press(self._now(), runs=self._talk.busy, is_empty=not self._entry.text):
            case "stop":
                self._cancel()
            case "clear":
                self._entry.clear()
            case "leave":
                self.leave()
            case "end":
                try:
                    self.abandon_at_once()
                finally:
                    os._exit(INTERRUPTED)

    def end_of_input(self) -> None:
        if self._entry.text:
            self._entry.buffer.delete()
        else:
            self.leave()

    def redraw(self) -> None:
        self._surface.clear()
        self._surface.changed()

    def suspend(self) -> None:
        self._surface.suspend()

    def show_transcript(self) -> None:
        self._beside.begin(self._show_transcript())

    def show_messages(self) -> None:
        self._page("Messages", self._talk.messages())

    @property
    def _talk(self) -> Talk:
        return self._exchange.talk

    @property
    def _shown(self) -> Conversation:
        return self._talk.shown

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _completed(self, line: str, cursor: int) -> Completion:
        return await self._services.complete(line, cursor, self.session)

    async def _show_transcript(self) -> None:
        self._page("Conversation", await self._talk.whole(), at_end=True)

    def _page(self, title: str, lines: list[str], *, at_end: bool = False) -> None:
        if self._surface.open_page(title, lines, at_end=at_end):
            self._reader.edits(False)

    def _cancel(self) -> None:
        """Stop the turn and empty the line."""
        self._beside.begin(self.session.cancel())

    def _begin(self) -> None:
        settings = self._services.handles.config.settings(self.session.root)
        self._surface.begin(rains=settings.terminal.rain, greeting=self._around.greeting)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.interrupt)

    def _submit(self, text: str) -> None:
        if leaves(text):
            self.leave()
        elif is_command(text):
            self._beside.begin(self._command(text))
        else:
            self._beside.begin(self._send(spoken(text)))

    async def _send(self, text: str) -> None:
        try:
            await self._exchange.send(text, self._around.cwd())
        except AgentFailure:
            self._shown.returned.append(text)
            self._type_returned()
            raise

    async def _command(self, line: str) -> None:
        result = await self._exchange.command(line)
        if result.page:
            self._page(result.title, result.page.split("\n"))
        if result.data.get("quit"):
            self.leave()

    def _type_returned(self) -> None:
        """Prompts that will not run are typed again, where nothing else is."""
        texts, self._shown.returned = self._shown.returned, []
        if texts and not self._entry.text:
            self._entry.replace("\n".join(texts))

    def _draw(self) -> None:
        if self._surface.is_closed:
            return
        if self._surface.is_paged:
            self._surface.draw_page()
            return
        size = self._surface.size
        self._panel.follow(self._shown.asking, self._now(), is_input_empty=not self._entry.text)
        finished = self._exchange.transcript.finished(size.columns)
        self._surface.draw(finished, frame(self._live(size.columns), size))
        if self._shown.running and self._shown.status != "waiting":
            self._surface.draw_again()

    def _live(self, width: int) -> Live:
        curtain = self._surface.curtain
        return Live(
            self._exchange.transcript,
            self._panel,
            self._entry.text,
            self._entry.cursor,
            self._entry.choices,
            [text for _, text in self._shown.queue],
            status.activity(
                self._shown, curtain.waiting.roles, self._now(), began=self._began, rains=bool(curtain.shows)
            ),
            status.bar(self._facts(), self._shown, width),
        )

    def _facts(self) -> status.Facts:
        settings = self._services.handles.config.settings(self.session.root)
        model = self._shown.model or self.session.model or settings.default_model or ""
        role = self._services.role(self.session).name
        return status.Facts(model, role, settings.approval.mode, status.shortened(self.session.root))
