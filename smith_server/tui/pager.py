"""A long text on the whole screen: moved through, searched, left again with everything below as it was."""

from collections.abc import Sequence

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.screen import BEGIN, END
from smith_server.tui.theme import Painter
from smith_server.tui.tty import Tty

_ENTER, _LEAVE = "\x1b[?1049h\x1b[H\x1b[2J", "\x1b[?1049l"
_HELP = "q leaves · space, b, g, G move · /, n find"


class Pager:
    """Shows `lines`; `key` takes what is pressed."""

    def __init__(self, tty: Tty, painter: Painter, title: str, lines: Sequence[str], *, at_end: bool = False) -> None:
        self.is_open = True
        self._tty = tty
        self._painter = painter
        self._title = title
        self._lines = [theme.clean(line) for line in lines]
        self._width = 0
        self._rows: list[Text] = []
        self._top = 1 << 30 if at_end else 0
        self._asked: str | None = None
        self._wanted = ""
        self._drawn = ""
        tty.write(_ENTER)

    def draw(self) -> None:
        """Draw what changed, in one write."""
        size = self._tty.size()
        if size.columns != self._width:
            self._width = size.columns
            self._rows = [row for line in self._lines for row in self._painter.wrapped(_row(line), size.columns)]
        self._top = max(0, min(self._top, len(self._rows) - self._page()))
        shown = self._rows[self._top : self._top + self._page()]
        body = "".join(f"{self._painter.ansi(row)}\x1b[K\r\n" for row in shown)
        drawn = f"\x1b[H{body}\x1b[J\x1b[{size.rows};1H{self._painter.ansi(self._foot(size.columns))}\x1b[K"
        if drawn != self._drawn:
            self._drawn = drawn
            self._tty.write(f"{BEGIN}{drawn}{END}")

    def key(self, key: str, text: str) -> None:
        """Do what a key means: its name, and the characters it stands for."""
        if self._asked is not None:
            self._typed(key, text)
        elif text == "/":
            self._asked = ""
        elif text == "n":
            self._find(self._top + 1)
        elif key in ("q", "escape", "c-c", "c-d"):
            self.close()
        else:
            self._move(key, text)

    def close(self) -> None:
        """Give the screen back."""
        if self.is_open:
            self._tty.write(_LEAVE)
            self.is_open = False

    def _page(self) -> int:
        return max(self._tty.size().rows - 1, 1)

    def _move(self, key: str, text: str) -> None:
        page = self._page()
        by = {"down": 1, "j": 1, "c-m": 1, "up": -1, "k": -1, " ": page, "pagedown": page, "c-f": page}
        by |= {"b": -page, "pageup": -page, "c-b": -page, "d": page // 2, "u": -page // 2}
        if text in ("g", "G") or key in ("home", "end"):
            self._top = 0 if text == "g" or key == "home" else len(self._rows)
        else:
            self._top += by.get(key, by.get(text, 0))

    def _typed(self, key: str, text: str) -> None:
        assert self._asked is not None
        if key == "c-m":
            self._wanted, self._asked = self._asked or self._wanted, None
            self._find(self._top)
        elif key in ("escape", "c-c"):
            self._asked = None
        elif key in ("c-h", "backspace"):
            self._asked = self._asked[:-1]
        elif text.isprintable():
            self._asked += text

    def _find(self, begin: int) -> None:
        wanted = self._wanted.lower()
        order = [*range(begin, len(self._rows)), *range(min(begin, len(self._rows)))]
        found = (at for at in order if wanted and wanted in self._rows[at].plain.lower())
        self._top = next(found, self._top)

    def _foot(self, width: int) -> Text:
        if self._asked is not None:
            return theme.cut(Text(f"/{self._asked}"), width)
        last = min(self._top + self._page(), len(self._rows))
        return theme.cut(Text(f"{self._title} · {last} of {len(self._rows)} · {_HELP}", theme.CHOSEN), width)


def _row(line: str) -> Text:
    style = theme.PROMPT if line.startswith("❯ ") else theme.HEADING if line.startswith("#") else ""
    return Text(line, style)
