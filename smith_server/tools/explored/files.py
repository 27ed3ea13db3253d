"""Files by name, the nearest first."""

import asyncio

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.names import Names
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.tools.code_files import MOST, FilesArguments
from smith_server.tools.room import Room, counted


async def answer(explorer: Explorer, args: FilesArguments, context: ToolContext) -> ToolResult:
    """One path a line."""
    area = await asyncio.to_thread(explorer.area, args.path, context.cwd)
    found = await explorer.names(area, args.query, args.limit)
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
    return f"{said} left out: narrow query or path, or raise limit (up to {MOST})"
