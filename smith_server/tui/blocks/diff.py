"""A unified diff as part of another block."""

from collections.abc import Iterator

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.blocks.label import INDENT, indent, split_lines

_STYLES = {"+": theme.ADDED, "-": theme.REMOVED, "@": theme.HUNK}


def plain(diff: str, limit: int) -> Iterator[str]:
    """Its lines, indented, at most `limit` of them."""
    lines = split_lines(diff)
    yield from map(indent, lines[:limit])
    if len(lines) > limit:
        yield indent(f"… {len(lines) - limit} more lines")


def rows(diff: str, limit: int) -> Iterator[Text]:
    """The same in colours."""
    for line in plain(diff, limit):
        body = line.removeprefix(INDENT)
        is_aside = body.startswith(("--- ", "+++ ", "… "))
        yield Text(line, theme.DETAIL if is_aside else _STYLES.get(body[:1], ""))
