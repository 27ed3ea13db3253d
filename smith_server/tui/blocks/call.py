"""A tool call: one line, and an indented one for what became of it. While it runs, the last lines of its output."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.blocks import diff, label
from smith_server.tui.state import Call

_LIMIT = 400
_LIVE = 5
_SLOW_MS = 1000
_SHORTEST = 20
"""So many cells of the call stay in sight beside its outcome."""

_DIFF_LINES, _DIFF_BYTES = 20, 4096
"""A longer diff is not shown: the outcome says how much it changed."""

_SIGN = {"running": "…", "ok": "✓", "failed": "✗", "lost": "–"}
_STYLE = {"running": theme.RUNNING, "ok": theme.OK, "failed": theme.FAILED, "lost": theme.DETAIL}


def plain(block: Call, width: int) -> list[str]:
    """Its line with the outcome, then its diff or its output."""
    lines = _head(block, width)
    if block.status == "running":
        return [*lines, *label.last_lines(block.output, _LIVE)]
    if block.diff:
        return [*lines, *diff.plain(block.diff, _LIMIT)]
    whole = block.output if block.status == "lost" else block.below + block.content
    return [*lines, *label.last_lines(whole, _LIMIT)]


def rows(block: Call, width: int) -> list[Text]:
    """Its line, and beneath it one for the outcome and a short diff, or what comes out just now."""
    what = label.of_call(block.name, block.title, block.arguments)
    head = Text(f"{_SIGN[block.status]} {label.cut(what, width - 2)}")
    head.stylize(_STYLE[block.status], 0, 1)
    head.stylize(theme.TOOL, 2, 2 + len(block.name))
    return [head, *(_running(block) if block.status == "running" else _ended(block))]


def _running(block: Call) -> Iterator[Text]:
    return (Text(line, theme.OUTPUT) for line in label.last_lines(block.output, _LIVE))


def _ended(block: Call) -> Iterator[Text]:
    outcome = _outcome(block).removeprefix(" — ").strip()
    if outcome:
        yield Text(label.indent(outcome), theme.FAILED if block.status == "failed" else theme.DETAIL)
    if block.diff and _is_short(block.diff):
        yield from diff.rows(block.diff, _DIFF_LINES)


def _is_short(text: str) -> bool:
    return len(label.split_lines(text)) <= _DIFF_LINES and len(text.encode()) <= _DIFF_BYTES


def _outcome(block: Call) -> str:
    if block.status == "running":
        return ""
    if block.status == "lost":
        return " — no result"
    summary = label.first_line(block.summary)
    duration = f" ({block.duration_ms / 1000:.1f} s)" if block.duration_ms >= _SLOW_MS else ""
    return (f" — {summary}" if summary else "") + duration


def _head(block: Call, width: int) -> list[str]:
    """One line, more where the outcome has no room beside the call."""
    tail, sign = _outcome(block), _SIGN[block.status]
    what = label.of_call(block.name, block.title, block.arguments)
    room = width - cell_len(tail) - 2
    if room >= min(cell_len(what), _SHORTEST):
        return [f"{sign} {label.cut(what, room)}{tail}"]
    return [f"{sign} {label.cut(what, width - 2)}", *(f"  {line}" for line in label.wrap(tail, width - 2))]
