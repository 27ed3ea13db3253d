"""Colours, and styled rows as bytes for the terminal: the one place where text meets control sequences.

Colours are those of the terminal's own palette, so they fit a dark one and a light one.
"""

from collections.abc import Mapping
from io import StringIO
from typing import Literal

from rich.console import Console
from rich.style import Style
from rich.text import Text

from smith_server.core.printable import printable

PROMPT = "bold cyan"
TOOL = "bold"
DETAIL = "dim"
OUTPUT = "dim"
THINKING = "dim italic"
HEADING = "bold"
QUOTE = "italic"
LIST = "cyan"
CODE = "yellow"
STRONG = "bold"
EMPHASIS = "italic"
LINK = "underline"
ADDED = "green"
REMOVED = "red"
HUNK = "cyan"
QUESTION = "bold yellow"
HINT = "bold"
OK = "green"
FAILED = "red"
WARNING = "yellow"
INFO = "blue"
RUNNING = "yellow"
CHOSEN = "reverse"

Depth = Literal["standard", "256", "truecolor"] | None

ROLE_COLOURS: Mapping[str, tuple[int, int, int]] = {
    "worker": (0, 224, 90),
    "explorer": (60, 170, 255),
    "orchestrator": (255, 176, 32),
}
"""Red, green, blue of the roles that can be dispatched, and of the one that only dispatches."""

OTHER_COLOUR = (190, 110, 255)
"""Of a role with a name of its own."""

_TAB = "    "


def role_colour(role: str) -> tuple[int, int, int]:
    """The colour of a role, as red, green, blue."""
    return ROLE_COLOURS.get(role, OTHER_COLOUR)


def role_style(role: str) -> str:
    """The same as a style."""
    red, green, blue = role_colour(role)
    return f"bold #{red:02x}{green:02x}{blue:02x}"


def depth(environ: Mapping[str, str]) -> Depth:
    """How many colours the terminal has, by what its environment says; None for none at all."""
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or term in ("", "dumb", "unknown"):
        return None
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term in ("xterm-kitty", "xterm-ghostty"):
        return "truecolor"
    return "256" if "256" in term else "standard"


class Painter:
    """Rows as text with colours; nothing in them but those colours is obeyed by a terminal."""

    def __init__(self, colours: Depth) -> None:
        self._console = Console(
            file=StringIO(), force_terminal=True, color_system=colours, legacy_windows=False, width=80, _environ={}
        )
        self._system = self._console._color_system
        self._styles: dict[str, Style] = {}

    def ansi(self, row: Text) -> str:
        """One row, without a line end."""
        parts = []
        if row.style and not row.spans:
            # The toolkit leaves the style of the whole out where no part has one.
            row = row.copy()
            row.stylize(row.style)
        for text, style, _ in row.render(self._console, end=""):
            shown = clean(text)
            parts.append(style.render(shown, color_system=self._system) if style else shown)
        return "".join(parts)

    def wrapped(self, row: Text, width: int, hanging: int = 0) -> list[Text]:
        """`row` in rows of at most `width` cells, broken between words where that goes.

        All but the first begin with `hanging` blanks, where there is room for them.
        """
        if not row.plain.isprintable():
            row = Text(clean(row.plain), row.style)
        first, *rest = self._broken(row, width)
        if not rest or not 0 < hanging < width // 2:
            return [first, *rest]
        left = row.plain[len(first.plain) :]
        body = row[len(row.plain) - len(left.lstrip()) :]
        return [first, *(Text(" " * hanging) + each for each in self._broken(body, width - hanging))]

    def _broken(self, row: Text, width: int) -> list[Text]:
        lines = list(row.wrap(self._console, max(width, 1))) or [row]
        for line in lines:
            line.rstrip()
        return lines


def clean(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would obey."""
    return printable(text.replace("\t", _TAB).replace("\n", " "))


def cut(row: Text, width: int) -> Text:
    """`row` in at most `width` cells."""
    if row.cell_len > width:
        row = row.copy()
        row.truncate(max(width, 1), overflow="ellipsis")
    return row
