"""The terminal session: puts keys, conversation, screen and rain together."""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from msgspec import Struct
from rich.text import Text

from smith_server.core.errors import AgentFailure
from smith_server.core.events import ConversationChanged, Envelope
from smith_server.runtime.commands.result import Result
from smith_server.runtime.completion import Completion
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.tui import kitty, shm, spinner, status, theme
from smith_server.tui.approval import Panel
from smith_server.tui.beside import Beside
from smith_server.tui.blocks import draw
from smith_server.tui.curtain import Curtain
from smith_server.tui.entry import Entry, Reader
from smith_server.tui.interrupt import INTERRUPTED, Presses
from smith_server.tui.keyboard import Keyboard
from smith_server.tui.keys import bindings
from smith_server.tui.pager import Pager
from smith_server.tui.screen import Screen
from smith_server.tui.talk import Talk
from smith_server.tui.transcript import Transcript
from smith_server.tui.tty import Tty
from smith_server.tui.view import Live, frame

_KEPT_ROWS = 400
_RAIN_SECONDS = 0.5
_PASTES_ON, _PASTES_OFF = "\x1b[?2004h", "\x1b[?2004l"
_LEAVING = ("exit", "quit", "/exit", "/quit")


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
        self._tty = Tty(around.stdout)
        self._painter = theme.Painter(theme.depth(around.environ))
        self._screen = Screen(self._tty, self._painter)
        self._keyboard = Keyboard(around.stdin)
        self._panel = Panel()
        self._presses = Presses()
        self._pager: Pager | None = None
        self._rows: deque[Text] = deque(maxlen=_KEPT_ROWS)
        self._above: list[Text] = []
        self._is_closed = False
        self._is_given_back = False
        self._clears = False
        self._is_stale = False
        self._showing = asyncio.Lock()
        self._beside = Beside(lambda error: self._talk.failed(error), self.changed)
        self._began = 0.0
        self._ticking: asyncio.TimerHandle | None = None
        self._curtain = Curtain(self._tty, self.changed, is_able=False)
        self._entry = Entry(around.history, self._completed, lambda: self._panel.typed(self._now()))
        self._reader = Reader(self._entry, bindings(self), self._keyboard, self._draw)
        self._open(session)

    @property
    def code(self) -> int:
        """0, or 130 when a running turn was interrupted by leaving."""
        return self._presses.code

    @property
    def session(self) -> Session:
        """The conversation that is shown."""
        return self._talk.session

    async def load(self) -> None:
        """Read what there is to show of the conversation; comes before `run`."""
        await self._talk.replay()

    async def run(self) -> None:
        """Talk until the person leaves or the terminal is gone."""
        shm.sweep()
        with self._keyboard.raw_mode():
            try:
                self._begin()
                await self._reader.run()
            finally:
                self.abandon()

    def take(self, envelope: Envelope) -> None:
        """A listener of the bus."""
        if envelope.conversation != self.session.id:
            return
        was_running = self._talk.shown.running
        self._talk.take(envelope)
        if isinstance(envelope.event, ConversationChanged) and envelope.event.change == "rewritten":
            self._is_stale = True
            self._beside.begin(self._show())
        if not self._is_closed:
            self._curtain.take(envelope)
            self._give_back()
        if self._talk.shown.running and not was_running:
            self._began = asyncio.get_running_loop().time()
        self.changed()

    def changed(self) -> None:
        """Draw again, soon."""
        if not self._is_closed:
            self._reader.changed()

    def say(self, text: str, level: str = "info") -> None:
        """Tell the person something."""
        self._talk.shown.notice(level, text)
        self.changed()

    def leave(self) -> None:
        """End the session; what runs is stopped by whoever closes the services."""
        self._reader.stop()

    def abandon(self) -> None:
        """Give the terminal back, whatever happens; a signal may call this again while it is being done."""
        if self._is_given_back:
            return
        self._is_closed = True
        if self._ticking is not None:
            self._ticking.cancel()
        if self._pager is not None:
            self._pager.close()
        self._curtain.stop()
        self._screen.erase()
        self._tty.write(_PASTES_OFF)
        self._is_given_back = True
        self.finish()

    def finish(self) -> None:
        """Write what came to its end after the last frame."""
        rows = self._talk_transcript.finished(self._tty.size().columns)
        self._tty.write("".join(f"{self._painter.ansi(row)}\r\n" for row in rows))

    # What the keys call; see `keys.Actions`.

    def pages(self) -> bool:
        return self._pager is not None

    def asks(self) -> bool:
        return self._pager is None and self._panel.takes_keys

    def is_asked(self) -> bool:
        return self._panel.question is not None

    def turn_page(self, key: str, text: str) -> None:
        if self._pager is None:
            return
        self._pager.key(key, text)
        if not self._pager.is_open:
            self._pager = None
            self._reader.edits(True)
            self._curtain.hold(False)

    def answer(self, decision: str) -> None:
        if self._panel.question is not None:
            self._talk.answer(self._panel.question.event.id, decision)

    def view(self) -> None:
        if self._panel.question is not None:
            self._page("Question", draw.plain(self._panel.question, self._tty.size().columns))

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
                self.abandon()
                os._exit(INTERRUPTED)

    def end_of_input(self) -> None:
        if self._entry.text:
            self._entry.buffer.delete()
        else:
            self.leave()

    def redraw(self) -> None:
        self._clears = True
        self.changed()

    def suspend(self) -> None:
        self._curtain.hold(True)
        self._screen.erase()
        self._tty.write(_PASTES_OFF)
        with self._keyboard.cooked_mode():
            os.kill(os.getpid(), signal.SIGSTOP)
        self._tty.write(_PASTES_ON)
        self._curtain.hold(False)
        self.changed()

    def show_transcript(self) -> None:
        self._beside.begin(self._show_transcript())

    def show_messages(self) -> None:
        self._page("Messages", self._talk.messages())

    # The rest is nobody else's.

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _completed(self, line: str, cursor: int) -> Completion:
        return await self._services.complete(line, cursor, self.session)

    def _open(self, session: Session) -> None:
        self._talk = Talk(self._services, session)
        self._talk_transcript = Transcript(self._talk.shown, self._painter, lead=1)
        self._curtain.stop()

    async def _show(self, session: Session | None = None) -> None:
        """Show a conversation as it is stored; without one the same again, if its messages were changed."""
        async with self._showing:
            if session is None and not self._is_stale:
                return
            before, anew = self._talk, session is None or self._is_stale
            rows = self._talk_transcript.finished(self._tty.size().columns)
            self._is_stale = False
            if anew:
                self._rows.clear()
                self._clears = True
            else:
                self._above += rows
            self._open(session or self.session)
            await self._talk.replay(None if anew or before.session.id != self.session.id else before)
        self.changed()

    async def _show_transcript(self) -> None:
        self._page("Conversation", await self._talk.whole(), at_end=True)

    def _cancel(self) -> None:
        """Stop the turn and empty the line."""
        self._beside.begin(self.session.cancel())

    def _begin(self) -> None:
        settings = self._services.handles.config.settings(self.session.root)
        if settings.terminal.rain and kitty.may_show(self._around.environ):
            self._curtain.is_able, typed = kitty.ask(self._tty, self._keyboard.fileno())
            self._keyboard.put_back(typed)
        if self._curtain.is_able:
            self._tty.write(kitty.delete())
        width = self._tty.size().columns
        lines = [Text(line, theme.DETAIL) for line in self._around.greeting.splitlines()]
        self._above = [row for line in lines for row in self._painter.wrapped(line, width)]
        self._tty.write(_PASTES_ON)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupt)

    def _submit(self, text: str) -> None:
        if text.lower() in _LEAVING:
            self.leave()
        elif text.startswith("/") and not text.startswith("//"):
            self._beside.begin(self._command(text))
        else:
            self._beside.begin(self._send(text.removeprefix("/") if text.startswith("//") else text))

    async def _send(self, text: str) -> None:
        try:
            await self._look_again()
            await self._talk.send(text, self._around.cwd())
        except AgentFailure:
            self._talk.shown.returned.append(text)
            self._give_back()
            raise

    async def _look_again(self) -> None:
        """Somebody else may write the conversation by now, or nobody any more."""
        session = await self._services.sessions.get(self.session.id, self.session.root)
        if session is not self.session:
            await self._show(session)

    async def _command(self, line: str) -> None:
        with suppress(AgentFailure):
            await self._look_again()
        result: Result = await self._services.run_line(line, self.session)
        await self._services.bus.told()
        chosen = self._services.sessions.known(str(result.data.get("conversation", "")))
        await self._show(None if chosen is self.session else chosen)
        self._talk.answered(line, result)
        if result.page:
            self._page(result.title, result.page.split("\n"))
        if result.data.get("quit"):
            self.leave()

    def _give_back(self) -> None:
        """Prompts that will not run are typed again, where nothing else is."""
        texts, self._talk.shown.returned = self._talk.shown.returned, []
        if texts and not self._entry.text:
            self._entry.replace("\n".join(texts))

    def _page(self, title: str, lines: list[str], *, at_end: bool = False) -> None:
        if self._pager is None and not self._is_closed:
            self._curtain.hold(True)
            self._pager = Pager(self._tty, self._painter, title, lines, at_end=at_end)
            self._reader.edits(False)
            self.changed()

    def _draw(self) -> None:
        if self._is_closed:
            return
        if self._pager is not None:
            self._pager.draw()
            return
        size = self._tty.size()
        shown = self._talk.shown
        self._panel.follow(shown.asking, self._now(), is_input_empty=not self._entry.text)
        finished = [*self._above, *self._talk_transcript.finished(size.columns)]
        self._above = []
        self._rows.extend(finished)
        picture = frame(self._live(size.columns), size)
        if self._clears:
            room = max(size.rows - len(picture.rows) - 1, 0)
            finished = list(self._rows)[-room:] if room else []
        self._screen.draw(finished, picture, clear=self._clears)
        self._clears = False
        self._tick()

    def _live(self, width: int) -> Live:
        shown = self._talk.shown
        waiting = self._curtain.waiting.roles
        seconds = self._now() - self._began
        activity = status.activity(shown, waiting, seconds, rains=bool(self._curtain.shows))
        return Live(
            self._talk_transcript,
            self._panel,
            self._entry.text,
            self._entry.cursor,
            self._entry.choices,
            [text for _, text in shown.queue],
            activity,
            status.bar(self._facts(), shown, width),
        )

    def _facts(self) -> status.Facts:
        settings = self._services.handles.config.settings(self.session.root)
        model = self._talk.shown.model or self.session.model or settings.default_model or ""
        role = self._services.role(self.session).name
        return status.Facts(model, role, settings.approval.mode, status.shortened(self.session.root))

    def _tick(self) -> None:
        """Draw again in a moment while something moves."""
        moves = self._talk.shown.running and self._talk.shown.status != "waiting"
        if moves and self._ticking is None:
            seconds = _RAIN_SECONDS if self._curtain.shows else spinner.INTERVAL
            self._ticking = asyncio.get_running_loop().call_later(seconds, self._ticked)

    def _ticked(self) -> None:
        self._ticking = None
        self.changed()
