"""The input: an editing buffer with history and completion, and a key reader that draws nothing itself."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import Layout
from prompt_toolkit.layout.containers import HSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.output import DummyOutput

from smith_server.tui.completion import Complete, LineCompleter
from smith_server.tui.keyboard import Keyboard
from smith_server.tui.view import Choice

FRAME_SECONDS = 1 / 30
ESCAPE_SECONDS = 0.05
"""After this time a lone Escape is one, and not the begin of another key."""


class Entry:
    """What is typed. `on_typed` is told of every text that comes in, from keys or from elsewhere."""

    def __init__(self, history: Path | None, complete: Complete, on_typed: Callable[[], None]) -> None:
        self._completer = LineCompleter(complete)
        self._asking: asyncio.Future[None] | None = None
        past: History = FileHistory(str(history)) if history is not None else InMemoryHistory()
        self.buffer = Buffer(
            multiline=True,
            history=past,
            enable_history_search=True,
            completer=self._completer,
            complete_while_typing=Condition(lambda: self.text.startswith("/")),
        )
        self.buffer.on_text_insert += lambda _: on_typed()

    @property
    def text(self) -> str:
        """All of it."""
        return self.buffer.text

    @property
    def cursor(self) -> int:
        """Offset of the cursor in the text."""
        return self.buffer.cursor_position

    @property
    def choices(self) -> list[Choice]:
        """The completions that are offered."""
        state = self.buffer.complete_state
        if state is None:
            return []
        return [
            Choice(each.display_text, each.display_meta_text, at == state.complete_index)
            for at, each in enumerate(state.completions)
        ]

    def insert(self, text: str) -> None:
        """Put a text at the cursor; terminals paste line ends of several kinds."""
        self.buffer.insert_text(text.replace("\r\n", "\n").replace("\r", "\n"))

    def replace(self, text: str) -> None:
        """Take another text instead, the cursor behind it."""
        self.buffer.text = text
        self.buffer.cursor_position = len(text)

    def clear(self) -> None:
        """Begin anew."""
        self.buffer.reset()

    def close_choices(self) -> None:
        """Offer nothing."""
        self.buffer.complete_state = None

    def take(self) -> str:
        """The text, which then belongs to the history; "" when it is blank or a completion was chosen with this."""
        state = self.buffer.complete_state
        if state is not None and state.current_completion is not None:
            self.close_choices()
            return ""
        # Bytes that are no text come as halves of surrogate pairs.
        text = self.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()
        if text:
            self.replace(text)
            self.buffer.append_to_history()
            self.clear()
        return text

    def complete(self, *, back: bool = False) -> None:
        """The next completion, or the only one. Where nothing is offered yet it is waited for."""
        state = self.buffer.complete_state
        if state is None or not state.completions:
            self._asking = asyncio.ensure_future(self._complete_soon())
        elif len(state.completions) == 1:
            self.buffer.apply_completion(state.completions[0])
        elif back:
            self.buffer.complete_previous()
        else:
            self.buffer.complete_next()

    async def _complete_soon(self) -> None:
        """Take the only candidate, or what all of them begin with, unless something else is typed meanwhile."""
        document = self.buffer.document
        found = [each async for each in self._completer.get_completions_async(document, CompleteEvent())]
        if self.buffer.document != document:
            return
        if len(found) == 1:
            self.buffer.apply_completion(found[0])
        elif common := get_common_complete_suffix(document, found):
            self.buffer.insert_text(common)
        elif self.buffer.complete_state is None:
            self.buffer.start_completion()


class Reader:
    """Reads keys for an entry, until it is told to stop. `on_frame` is called when something may have changed."""

    def __init__(self, entry: Entry, keys: KeyBindings, keyboard: Keyboard, on_frame: Callable[[], None]) -> None:
        self._entry = entry
        self._elsewhere = Window(FormattedTextControl("", focusable=True))
        line = Window(BufferControl(entry.buffer), height=1)
        # The toolkit's own output goes nowhere, so that nobody but us writes to the terminal.
        self._app: Application[None] = Application(
            layout=Layout(HSplit([line, self._elsewhere])),
            key_bindings=keys,
            input=keyboard,
            output=DummyOutput(),
            min_redraw_interval=FRAME_SECONDS,
            terminal_size_polling_interval=None,
            after_render=lambda _: on_frame(),
        )
        self._app.ttimeoutlen = self._app.timeoutlen = ESCAPE_SECONDS
        self._is_stopped = False

    async def run(self) -> None:
        """Until `stop`, or until the terminal is gone."""
        try:
            await self._app.run_async(self._begun, handle_sigint=False, set_exception_handler=False)
        except EOFError:
            return

    def stop(self) -> None:
        """End it; may be called more than once, and before it runs."""
        self._is_stopped = True
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def _begun(self) -> None:
        if self._is_stopped:
            self._app.exit()

    def changed(self) -> None:
        """There is something to draw."""
        self._app.invalidate()

    def edits(self, does: bool) -> None:
        """Whether keys edit the text or only do what they are bound to."""
        if does:
            self._app.layout.focus(self._entry.buffer)
        else:
            self._app.layout.focus(self._elsewhere)
