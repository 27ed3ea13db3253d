"""The line below the input: model, role, mode, tokens, cost. And the one above it while something is waited for."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
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
    parts.append(facts.place)
    return theme.cut(Text("  " + " · ".join(filter(None, parts)), theme.DETAIL), width)


def activity(
    conversation: Conversation, waiting: Sequence[str], seconds: float | None, *, rains: bool, is_ours: bool = True
) -> Text | None:
    """What goes on, with a sign that moves unless it rains; None when nothing does.

    `seconds` since it began, None where nobody knows; what is not `is_ours` cannot be stopped from here.
    """
    if not conversation.running:
        return None
    is_asked = conversation.status == "waiting"
    sign = spinner.STILL if rains or is_asked or seconds is None else spinner.frame(seconds)
    row = Text.assemble((f"{sign} ", theme.RUNNING), _said(conversation, waiting))
    for role in dict.fromkeys(waiting):
        row.highlight_words([_called(role)], theme.role_style(role))
    if not is_asked and seconds is not None and seconds >= 1:
        row.append(f" · {int(seconds)} s", theme.DETAIL)
    if not is_asked and is_ours:
        row.append(" · Esc stops", theme.DETAIL)
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
    return _SAID.get(conversation.status, conversation.status)


def _called(role: str) -> str:
    alias = _ALIAS.get(role, "")
    return f"{alias} ({role})" if alias else role


def _used(usage: Usage) -> str:
    if not usage.context and not usage.output:
        return ""
    return f"{tokens(usage.context)} in, {tokens(usage.output)} out"
