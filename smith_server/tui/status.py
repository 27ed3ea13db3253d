"""The line below the input: model, role, mode, tokens, cost. And the one above it while something is waited for."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from smith_server.core.messages import Usage
from smith_server.core.news import tokens
from smith_server.llm.pricing import in_dollars
from smith_server.policy.roles import ROLES
from smith_server.tui import spinner, theme
from smith_server.tui.state import Conversation

_SAID = {
    "thinking": "thinking",
    "streaming": "writing",
    "tool": "working",
    "waiting": "waiting for your answer",
    "cancelling": "stopping",
}
_ELSEWHERE = {**_SAID, "tool": "working or waiting for an answer", "waiting": "waiting for an answer"}
"""In another process, whose questions are not known here."""

_SHORTEST_PLACE = 8
_ALIAS = {role.name: role.alias for role in ROLES}


class Facts(Struct, frozen=True):
    """What is known beside the conversation: `mode` is that of approvals, `place` the project's folder."""

    model: str = ""
    role: str = ""
    mode: str = ""
    place: str = ""


def bar(facts: Facts, conversation: Conversation, width: int) -> Text:
    """One line, what matters least last."""
    parts = ["read-only" if conversation.holder else "", facts.model, facts.role, facts.mode]
    if conversation.context:
        parts.append(f"{tokens(conversation.context)} context")
    if used := _used(conversation.usage):
        parts.append(used)
    if conversation.cost:
        parts.append(in_dollars(conversation.cost))
    before = "  " + " · ".join(filter(None, parts))
    room = width - cell_len(before) - len(" · ")
    place = facts.place if room < _SHORTEST_PLACE else _ended(facts.place, room)
    return theme.cut(Text(" · ".join(filter(None, (before, place))), theme.DETAIL), width)


def activity(
    conversation: Conversation, waiting: Sequence[str], now: float, *, began: float | None, rains: bool
) -> Text | None:
    """What goes on, with a sign that moves unless it rains; None when nothing does.

    `now` and `began` are seconds of one clock; the turn began at `began`, None when that is not known.
    """
    if not conversation.running:
        return None
    is_asked = conversation.status == "waiting"
    sign = spinner.STILL if rains or is_asked else spinner.frame(now - (began or 0.0))
    row = Text.assemble((f"{sign} ", theme.RUNNING), _said(conversation, waiting))
    for role in dict.fromkeys(waiting):
        row.highlight_words([_called(role)], theme.role_style(role))
    if not is_asked:
        seconds = 0 if began is None else int(now - began)
        clock, stops = f" · {seconds} s" if seconds else "", "" if conversation.holder else " · Esc stops"
        row.append(f"{clock}{stops}", theme.DETAIL)
    if conversation.note:
        row.append(f" · {conversation.note}", theme.WARNING)
    return row


def shortened(folder: Path) -> str:
    """A folder as people write it."""
    try:
        return f"~/{folder.relative_to(Path.home())}".removesuffix("/.")
    except (ValueError, RuntimeError):
        return str(folder)


def _said(conversation: Conversation, waiting: Sequence[str]) -> str:
    if waiting and conversation.status not in ("waiting", "cancelling"):
        names = ", ".join(map(_called, dict.fromkeys(waiting)))
        return f"waiting for {names}"
    if holder := conversation.holder:
        what = _ELSEWHERE.get(conversation.status, conversation.status)
        return f"{what} in {holder.get('face') or holder.get('host', '')}"
    return _SAID.get(conversation.status, conversation.status)


def _ended(place: str, room: int) -> str:
    """The end of a path in at most `room` cells: whole components where that goes."""
    if cell_len(place) <= room:
        return place
    ends = (f"…{place[at:]}" for at, sign in enumerate(place) if sign == "/" and at)
    fitting = next((end for end in ends if cell_len(end) <= room), "")
    return fitting or f"…{set_cell_size(place[::-1], room - 1)[::-1]}"


def _called(role: str) -> str:
    alias = _ALIAS.get(role, "")
    return f"{alias} ({role})" if alias else role


def _used(usage: Usage) -> str:
    if not usage.context and not usage.output:
        return ""
    return f"{tokens(usage.context)} in, {tokens(usage.output)} out"
