"""A question of the agent: what it wants to do and what would change. Answered, it is one line."""

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.blocks import diff, label
from smith_server.tui.state import Approval

CHOICES = "y yes · n no · a always"
_LIMIT = 400
_ANSWERED = {
    "yes": "allowed",
    "no": "refused",
    "always": "always allowed",
    "quit": "refused, turn stopped",
    "withdrawn": "not answered",
}


def plain(block: Approval, width: int) -> list[str]:
    """The question, or the answer that it got."""
    if block.decision:
        return [_answer(block, width)]
    return [*whole(block), f"{label.INDENT}{CHOICES}"]


def whole(block: Approval) -> list[str]:
    """The question without the keys that answer it."""
    return [_head(block), *_details(block), *diff.plain(block.event.diff, _LIMIT)]


def rows(block: Approval, width: int) -> list[Text]:
    """The answer that it got; the question itself is the panel."""
    return [Text(_answer(block, width), theme.DETAIL)]


def question(block: Approval, height: int) -> tuple[list[Text], bool]:
    """The question in at most about `height` rows, without the keys; whether that is all of it."""
    details = [Text(line, theme.DETAIL) for line in _details(block)]
    room = max(height - 1 - len(details), 3)
    shown = list(diff.rows(block.event.diff, room)) if block.event.diff else []
    is_whole = len(label.split_lines(block.event.diff)) <= room
    return [Text(_head(block), theme.QUESTION), *details, *shown], is_whole


def _answer(block: Approval, width: int) -> str:
    what = label.of_call(block.event.name, block.event.title)
    return label.cut(f"  {_ANSWERED.get(block.decision, block.decision)}: {what}", width)


def _head(block: Approval) -> str:
    what = label.of_call(block.event.name, block.event.title)
    return f"? {block.role} wants to run {what}" if block.role else f"? May I run {what}?"


def _details(block: Approval) -> list[str]:
    saves = f"saves first: {', '.join(block.event.saves)}" if block.event.saves else ""
    return [label.indent(label.first_line(text)) for text in (block.event.reason, saves) if text]
