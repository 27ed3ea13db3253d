"""What the model thought: one line; the words only in the transcript."""

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.blocks.label import indent
from smith_server.tui.state import Thinking


def head(block: Thinking) -> str:
    """The one line."""
    if not block.settled:
        return "· thinking …"
    count = len(block.body.span())
    return f"· thought, {count} {'line' if count == 1 else 'lines'}"


def plain(block: Thinking, width: int) -> list[str]:
    """The line and the words."""
    return [head(block), *map(indent, block.body.shown())]


def rows(block: Thinking, width: int) -> list[Text]:
    """The line."""
    return [Text(head(block), theme.THINKING)]
