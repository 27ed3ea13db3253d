"""What the person said."""

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.state import Prompt

SIGN = "❯ "
_MOST = 12


def plain(block: Prompt, width: int) -> list[str]:
    """Every line of it."""
    first, *rest = block.text.split("\n")
    return [f"{SIGN}{first}", *(f"  {line}" for line in rest)]


def rows(block: Prompt, width: int) -> list[Text]:
    """The same, without the middle of a very long one."""
    lines = plain(block, width)
    left_out = len(lines) - _MOST
    if left_out > 1:
        lines[_MOST - 2 : -2] = [f"  … {left_out} more lines"]
    return [Text(line, theme.PROMPT) for line in lines]
