"""The live region put together: what still changes, the question, what waits, the input, the status line."""

from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.approval import Panel
from smith_server.tui.input import input_rows
from smith_server.tui.screen import Frame
from smith_server.tui.transcript import Transcript
from smith_server.tui.tty import Size

_MOST_INPUT = 8
_MOST_CHOICES = 6
_LEAST_LIVE = 3


class Choice(Struct, frozen=True):
    """One completion that may be chosen."""

    text: str
    detail: str = ""
    is_current: bool = False


class Live(Struct):
    """All that the live region is made of."""

    transcript: Transcript
    panel: Panel
    text: str
    cursor: int
    choices: Sequence[Choice]
    queue: Sequence[str]
    activity: Text | None
    bar: Text


def frame(live: Live, size: Size) -> Frame:
    """The rows from top to bottom."""
    width = size.columns
    entry = input_rows(live.text, live.cursor, width, max(min(_MOST_INPUT, size.rows // 3), 1))
    panel = live.panel.rows(width, max(size.rows // 2, 4))
    waiting = [theme.cut(Text(f"  next: {text.splitlines()[0]}", theme.DETAIL), width) for text in live.queue if text]
    above = [*panel, *waiting, *([live.activity] if live.activity is not None else [])]
    below = [*_choices(live.choices, width), live.bar]
    room = size.rows - 2 - len(above) - len(entry.rows) - len(below)
    moving = live.transcript.live(width, max(room, _LEAST_LIVE))
    top = [*moving, Text(), *above]
    return Frame([*top, *entry.rows, *below], len(top) + entry.row, entry.column)


def _choices(choices: Sequence[Choice], width: int) -> list[Text]:
    """The completions around the current one."""
    at = next((index for index, choice in enumerate(choices) if choice.is_current), 0)
    begin = max(min(at - _MOST_CHOICES + 1, len(choices) - _MOST_CHOICES), 0) if at >= _MOST_CHOICES else 0
    shown = choices[begin : begin + _MOST_CHOICES]
    column = max((Text(choice.text).cell_len for choice in shown), default=0)
    rows = [_choice(choice, min(column, width // 2)) for choice in shown]
    left = len(choices) - begin - len(shown)
    if left > 0:
        rows.append(Text(f"    … {left} more", theme.DETAIL))
    return [theme.cut(row, width) for row in rows]


def _choice(choice: Choice, column: int) -> Text:
    name = Text(choice.text)
    name.truncate(column, overflow="ellipsis", pad=True)
    row = Text.assemble("  ", (name.plain, theme.CHOSEN if choice.is_current else ""))
    return row.append(f"  {choice.detail}" if choice.detail else "", theme.DETAIL)
