"""Something for the person that is no part of the conversation."""

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.state import Notice

_SIGN = {"info": "i", "quiet": "·", "warning": "!", "error": "✗"}
_STYLE = {"info": theme.INFO, "quiet": theme.DETAIL, "warning": theme.WARNING, "error": theme.FAILED}


def plain(block: Notice, width: int) -> list[str]:
    """Every line of it, a sign before the first."""
    first, *rest = block.text.split("\n")
    return [f"{_SIGN.get(block.level, 'i')} {first}", *(f"  {line}" for line in rest)]


def rows(block: Notice, width: int) -> list[Text]:
    """The same; only the sign of mere information is coloured."""
    style = _STYLE.get(block.level, theme.INFO)
    made = [Text(line, "" if block.level == "info" else style) for line in plain(block, width)]
    made[0].stylize(style, 0, 1)
    return made
