"""`code_files`: files by name, the nearest first."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.names import Names
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.tools.output import visible
from smith_server.tools.room import Room, counted
from smith_server.tools.text import text_of

_MOST = 500


class FilesArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    query: str
    path: str = ""
    limit: Annotated[int, Meta(ge=1, le=_MOST)] = 50


class CodeFiles:
    """Finds through `explorer`."""

    name = "code_files"
    effect = Effect.READ
    args = FilesArguments
    text = text_of(__file__)

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    async def preview(self, args: FilesArguments, context: ToolContext) -> Preview:
        """The query, and where."""
        return Preview(visible(f"{args.query} in {args.path or '.'}"))

    async def run(self, args: FilesArguments, context: ToolContext) -> ToolResult:
        """One path a line."""
        area = await asyncio.to_thread(self._explorer.area, args.path, context.cwd)
        found = await self._explorer.names(area, args.query, args.limit)
        if not found.paths:
            return ToolResult("No file has such a name. Ignored and hidden files were not looked at.", "no file")
        room = Room(args.limit)
        for path in found.paths:
            if not room.add(area.shown(path)):
                break
        return ToolResult(room.text(_left_out(found, len(room.lines))), _summary(found))


def _summary(found: Names) -> str:
    files = counted(found.total, "file")
    return files if found.counted else f"more than {files}"


def _left_out(found: Names, shown: int) -> str:
    left = found.total - shown
    if left <= 0:
        return ""
    more = counted(left, "more file")
    said = more if found.counted else f"more than {more}"
    return f"{said} left out: narrow query or path, or raise limit (up to {_MOST})"
