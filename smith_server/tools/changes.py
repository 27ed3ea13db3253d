"""What `edit`, `replace` and `write` share: show a change, do it, and tell both sides what came of it."""

import asyncio
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.core.tool import Preview, ToolContext, ToolResult
from smith_server.workspace.diff import counts, unified
from smith_server.workspace.edits import Edit, Rewrite
from smith_server.workspace.excerpt import around
from smith_server.workspace.paths import Place, locate
from smith_server.workspace.plan import Plan
from smith_server.workspace.texts import Texts

_MOST_SHOWN = 64
_SNIPPET_LINES = 16


class Wish(Struct, frozen=True):
    """An edit of the file at `path`, made for the text with `hash` ("": the last one known)."""

    path: str
    edit: Edit
    hash: str


class Changes:
    """Changes files through `texts`, at the place that was shown when somebody was asked."""

    def __init__(self, texts: Texts, verb: str) -> None:
        self._texts = texts
        self._verb = verb
        self._shown: dict[str, Path] = {}

    async def preview(self, wish: Wish, context: ToolContext) -> Preview:
        """What the change would do now, as a diff. Raises what `run` would raise."""
        place = await asyncio.to_thread(locate, wish.path, context.cwd)
        plan = await self._texts.plan(place, wish.edit, wish.hash)
        while len(self._shown) >= _MOST_SHOWN:
            del self._shown[next(iter(self._shown))]
        self._shown[context.call_id] = place.real
        return Preview(f"{place.name}{' (a new file)' if plan.created else ''}", _diff(place, plan))

    async def run(self, wish: Wish, context: ToolContext) -> ToolResult:
        """Do it; the result has the new hash and, for edits of parts, the lines as they are now."""
        place = await asyncio.to_thread(locate, wish.path, context.cwd)
        if self._shown.pop(context.call_id, place.real) != place.real:
            raise ToolRefusal(
                "target_changed",
                f"{place.name} leads to another file than when the user was asked. Nothing was changed.",
            )
        plan = await self._texts.change(place, wish.edit, wish.hash, f"{self._verb} {place.name}")
        return ToolResult(
            _told(place, plan),
            _summary(plan),
            diff=_diff(place, plan),
            mutation="none" if plan.is_nothing else "attempted",
            touched=(place.real,) if plan.ground.buffer is None and not plan.is_nothing else (),
        )


def _diff(place: Place, plan: Plan) -> str:
    return unified(place.name, plan.ground.text, plan.made.text, plan.made.hunks, created=plan.created)


def _told(place: Place, plan: Plan) -> str:
    """For the model."""
    where = " in the editor's buffer, not saved" if plan.ground.buffer is not None and not plan.is_nothing else ""
    lines = [f"{place.name}: {_what(plan)}{where}; hash {plan.hash}"]
    if plan.rebased:
        lines.append("[the user changed other lines since you read it: line numbers have moved]")
    lines += [f"[{note}]" for note in plan.notes]
    if not plan.is_nothing and not isinstance(plan.edit, Rewrite):
        first, last = plan.made.first, plan.made.last
        lines.append(around(plan.made.text, first, max(first, last), 2, _SNIPPET_LINES))
    return "\n".join(lines)


def _what(plan: Plan) -> str:
    made = plan.made
    if plan.created:
        return f"created, {_lines(str(made.line_delta))}"
    if plan.is_nothing:
        return "nothing to change, the text is so already"
    delta = f", {_lines(f'{made.line_delta:+d}')}" if made.line_delta else ""
    if made.last < made.first:
        return f"lines removed at {made.first}{delta}"
    lines = f"line {made.first}" if made.first == made.last else f"lines {made.first}-{made.last}"
    return f"{lines} changed{delta}"


def _lines(count: str) -> str:
    return f"{count} line" if count in ("1", "+1", "-1") else f"{count} lines"


def _summary(plan: Plan) -> str:
    """For the person."""
    if plan.is_nothing:
        return "no change"
    changed = counts(plan.ground.text, plan.made.hunks)
    where = "buffer, not saved" if plan.ground.buffer is not None else "created" if plan.created else "on disk"
    return f"+{changed.added} −{changed.removed} ({where})"
