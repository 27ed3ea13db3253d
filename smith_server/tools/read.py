"""The `read` tool: numbered lines of a file as the user sees it, with the hash that edits need."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.workspace.excerpt import numbered
from smith_server.workspace.paths import locate
from smith_server.workspace.text import lines_of
from smith_server.workspace.texts import Texts, View

_MOST_LINES = 1000
_MOST_BYTES = 32_768


class ReadArgs(Struct, frozen=True, forbid_unknown_fields=True):  # no docstring: it would be sent with every request
    path: str
    offset: Annotated[int, Meta(ge=1, description="first line")] = 1
    limit: Annotated[int, Meta(ge=1, le=_MOST_LINES, description="most lines")] = _MOST_LINES


class Read:
    """Reads through `texts`: the buffer of an open file, else the disk."""

    name = "read"
    effect = Effect.READ
    args = ReadArgs

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()

    async def preview(self, args: ReadArgs, context: ToolContext) -> Preview:
        """The name of the file."""
        place = await asyncio.to_thread(locate, args.path, context.cwd)
        return Preview(place.name)

    async def run(self, args: ReadArgs, context: ToolContext) -> ToolResult:
        """The lines from `offset` on, as many as were asked for and fit."""
        place = await asyncio.to_thread(locate, args.path, context.cwd)
        view = await self._texts.read(place)
        lines = lines_of(view.text)
        shown = _fitting(numbered(lines[args.offset - 1 : args.offset - 1 + args.limit], args.offset))
        last = args.offset + len(shown) - 1
        head = f"hash {view.hash}; {_extent(args.offset, last, len(lines))}{_state(view)}"
        more = [f"[next offset: {last + 1}]"] if shown and last < len(lines) else []
        summary = _extent(args.offset, last, len(lines))
        return ToolResult("\n".join([head, *shown, *more]), summary)


def _fitting(text: str) -> list[str]:
    """The lines of `text` that fit into the size of one result; the first one always does."""
    lines = text.split("\n") if text else []
    size = 0
    for index, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > _MOST_BYTES and index:
            return lines[:index]
    return lines


def _extent(first: int, last: int, total: int) -> str:
    if not total:
        return "the file is empty"
    if last < first:
        return f"no lines: the file has {total}"
    return f"lines {first}-{last} of {total}"


def _state(view: View) -> str:
    """What has to be known of the text besides its lines."""
    facts = []
    if view.source == "buffer":
        facts.append(
            "open in the editor with unsaved text, differs from disk" if view.differs else "open in the editor"
        )
    if view.changed:
        facts.append("changed by somebody else since you saw it last")
    if view.encoding not in ("utf-8", ""):
        facts.append(f"encoding {view.encoding}")
    if view.read_only:
        facts.append(f"cannot be edited: {view.read_only}")
    return "".join(f"; {fact}" for fact in facts)
