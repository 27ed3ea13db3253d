"""Markdown, a line at a time, so that a growing answer costs only what is new. Tables are drawn when they end."""

import re
from io import StringIO
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from smith_server.tui import theme

_INLINE = re.compile(
    r"(?P<code>`+)(?P<inside>.+?)(?P=code)"
    r"|\*\*(?P<strong>[^*\s](?:[^*]*[^*\s])?)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])"
    r"|\[(?P<label>[^\]]+)\]\((?P<target>[^)\s]+)\)"
    r"|(?P<address>https?://[^\s)>]+)"
)
_BULLET = re.compile(r"(\s*)([-*+]|\d+[.)])(\s+)")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,}\s*$")
_DIVIDER = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")


def is_row(line: str) -> bool:
    """Whether a line may be one of a table."""
    return line.lstrip().startswith("|")


def styled(line: str, width: int) -> tuple[Text, int]:
    """A line outside of code, and the indentation of its continuation."""
    if heading := _HEADING.match(line):
        return _with_inline(heading[1], theme.HEADING), 0
    if _RULE.match(line):
        return Text("─" * min(width, 40), theme.DETAIL), 0
    if line.startswith(">"):
        quoted = _with_inline(line[1:].removeprefix(" "), theme.QUOTE)
        return Text("▏ ", theme.DETAIL) + quoted, 2
    if bullet := _BULLET.match(line):
        sign = "•" if bullet[2] in "-*+" else bullet[2]
        head = Text(f"{bullet[1]}{sign} ")
        head.stylize(theme.LIST, len(bullet[1]))
        return head + _with_inline(line[bullet.end() :]), len(head.plain)
    return _with_inline(line), len(line) - len(line.lstrip())


def code(line: str) -> Text:
    """A line inside a fence, or the fence."""
    return Text(line, theme.DETAIL if _FENCE.match(line) else theme.CODE)


def table(lines: list[str], width: int) -> list[Text]:
    """A whole table; lines that are none stay as they are."""
    if len(lines) < 2 or not _DIVIDER.match(lines[1]):
        return [styled(line, width)[0] for line in lines]
    head, rule, *body = [_cells(line) for line in lines]
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for at, cell in enumerate(head):
        made.add_column(_with_inline(cell), justify=_side(rule[at] if at < len(rule) else ""))
    for cells in body:
        made.add_row(*(_with_inline(cell) for cell in [*cells, *[""] * len(head)][: len(head)]))
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system="truecolor", _environ={})
    drawn = []
    for segments in console.render_lines(made, pad=False):
        row = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        row.rstrip()
        drawn.append(row)
    return [row for row in drawn if row.plain]


def _side(rule: str) -> Literal["left", "center", "right"]:
    if not rule.endswith(":"):
        return "left"
    return "center" if rule.startswith(":") and len(rule) > 1 else "right"


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", theme.clean(inner))]


def _with_inline(text: str, style: str = "") -> Text:
    made = Text(style=style)
    at = 0
    for found in _INLINE.finditer(text):
        made.append(text[at : found.start()])
        _append(made, found)
        at = found.end()
    return made.append(text[at:])


def _append(made: Text, found: re.Match[str]) -> None:
    match found.lastgroup:
        case "code" | "inside":
            made.append(found["inside"], theme.CODE)
        case "strong":
            made.append(found["strong"], theme.STRONG)
        case "emphasis":
            made.append(found["emphasis"], theme.EMPHASIS)
        case "address":
            made.append(found["address"], theme.LINK)
        case _:
            made.append(found["label"], theme.LINK)
            made.append(f" ({found['target']})", theme.DETAIL)
