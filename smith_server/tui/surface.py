"""The terminal while a session has it: frames below the scrollback, pages and rain above them, the giving back.

Knows rows and keys, and no conversation.
"""

import asyncio
import os
import signal
import termios
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

from rich.text import Text

from smith_server.tui import kitty, spinner, theme
from smith_server.tui.curtain import Curtain
from smith_server.tui.keyboard import Keyboard
from smith_server.tui.pager import Pager
from smith_server.tui.screen import END, Frame, Screen
from smith_server.tui.tty import Size, Tty

_KEPT_ROWS = 400
_RAIN_SECONDS = 0.5
_PASTES_ON, _PASTES_OFF = "\x1b[?2004h", "\x1b[?2004l"


class Surface:
    """Everything that is written to one terminal. `on_change` is called when a frame should be drawn."""

    def __init__(self, stdin: TextIO, stdout: int, environ: Mapping[str, str], on_change: Callable[[], None]) -> None:
        self.is_closed = False
        self.is_given_back = False
        self.painter = theme.Painter(theme.depth(environ))
        self.keyboard = Keyboard(stdin)
        self._environ = environ
        self._on_change = on_change
        self._tty = Tty(stdout)
        self.curtain = Curtain(self._tty, self.changed, is_able=False)
        self._screen = Screen(self._tty, self.painter)
        self._pager: Pager | None = None
        self._scrollback: deque[Text] = deque(maxlen=_KEPT_ROWS)
        self._above: list[Text] = []
        self._clears = False
        self._ticking: asyncio.TimerHandle | None = None
        self._modes: list[Any] | None = None
        with suppress(OSError, termios.error):
            self._modes = termios.tcgetattr(stdin)

    @property
    def size(self) -> Size:
        """How large it is now."""
        return self._tty.size()

    @property
    def is_paged(self) -> bool:
        """Whether a page covers everything else."""
        return self._pager is not None

    def begin(self, *, rains: bool, greeting: str) -> None:
        """Take the terminal. It is asked whether it can show rain, if it `rains`; a moment at most."""
        if rains and kitty.may_show(self._environ):
            self.curtain.is_able, typed = kitty.ask(self._tty, self.keyboard.fileno())
            self.keyboard.put_back(typed)
        if self.curtain.is_able:
            self._tty.write(kitty.delete())
        width = self.size.columns
        lines = [Text(line, theme.DETAIL) for line in greeting.splitlines()]
        self._above = [row for line in lines for row in self.painter.wrapped(line, width)]
        self._tty.write(_PASTES_ON)

    def changed(self) -> None:
        """Draw again, soon."""
        if not self.is_closed:
            self._on_change()

    def put_above(self, rows: Sequence[Text]) -> None:
        """Rows that go into the scrollback with the next frame, in front of what it finishes."""
        self._above += rows

    def clear(self, *, forgets: bool = False) -> None:
        """Let the next frame begin on an empty screen, below what stood above the last ones unless it `forgets` it."""
        self._clears = True
        if forgets:
            self._scrollback.clear()

    def draw(self, finished: Sequence[Text], frame: Frame) -> None:
        """One frame: what is `finished` goes into the scrollback above it."""
        above = [*self._above, *finished]
        self._above = []
        self._scrollback.extend(above)
        if self._clears:
            room = max(self.size.rows - len(frame.rows) - 1, 0)
            above = list(self._scrollback)[-room:] if room else []
        self._screen.draw(above, frame, clear=self._clears)
        self._clears = False

    def draw_again(self) -> None:
        """Another frame in a moment, because something moves."""
        if self._ticking is None:
            seconds = _RAIN_SECONDS if self.curtain.shows else spinner.INTERVAL
            self._ticking = asyncio.get_running_loop().call_later(seconds, self._ticked)

    def open_page(self, title: str, lines: Sequence[str], *, at_end: bool = False) -> bool:
        """Cover everything with a text; whether it does, for there is one page at a time."""
        if self._pager is not None or self.is_closed:
            return False
        self.curtain.hold(True)
        self._pager = Pager(self._tty, self.painter, title, lines, at_end=at_end)
        self.changed()
        return True

    def draw_page(self) -> None:
        """Draw the page, if there is one."""
        if self._pager is not None:
            self._pager.draw()

    def turn_page(self, key: str, text: str) -> None:
        """Give the page a key, which may close it."""
        if self._pager is None:
            return
        self._pager.key(key, text)
        if not self._pager.is_open:
            self._pager = None
            self.curtain.hold(False)

    def suspend(self) -> None:
        """Stop the process, the terminal given back until it goes on."""
        self.curtain.hold(True)
        self._screen.erase()
        self._tty.write(_PASTES_OFF)
        with self.keyboard.cooked_mode():
            os.kill(os.getpid(), signal.SIGSTOP)
        self._tty.write(_PASTES_ON)
        self.curtain.hold(False)
        self.changed()

    def give_back(self) -> None:
        """Leave the terminal as it was, but for its modes. A signal may call this again amid itself: it then does
        what is left."""
        if self.is_given_back:
            return
        self.is_closed = True
        if self._ticking is not None:
            self._ticking.cancel()
        if self._pager is not None:
            self._pager.close()
        self.curtain.stop()
        # A frame may have been cut off amid itself.
        self._tty.write(END)
        self._screen.erase()
        self._tty.write(_PASTES_OFF)
        self.is_given_back = True

    def restore_modes(self) -> None:
        """Its modes as they were when this was made; of a terminal that is gone there are none."""
        if self._modes is not None:
            with suppress(OSError, termios.error):
                termios.tcsetattr(self.keyboard.fileno(), termios.TCSANOW, self._modes)

    def print(self, rows: Sequence[Text]) -> None:
        """Write rows below everything, with no frame."""
        self._tty.write("".join(f"{self.painter.ansi(row)}\r\n" for row in rows))

    def _ticked(self) -> None:
        self._ticking = None
        self.changed()
