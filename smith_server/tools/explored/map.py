"""What a folder holds, one line per folder."""

import asyncio
from collections.abc import Iterator

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.overview import Folder, chosen, folders_of, kinds_of_files, languages, walked
from smith_server.codebase.rank import order
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.tools.code_map import MapArguments
from smith_server.tools.room import Room, counted
from smith_server.workspace.paths import printable

_MOST_FOLDERS = 120
_NAMES = 160
"""Characters of file names that stand behind a folder."""


async def answer(explorer: Explorer, args: MapArguments, context: ToolContext) -> ToolResult:
    """The languages, then one line per folder: files in all, and the names of those right in it."""
    area = await asyncio.to_thread(explorer.area, args.path, context.cwd)
    listing = await explorer.listing(area)
    if not listing.paths:
        return ToolResult("No files here, besides ignored and hidden ones.", "no files")
    top = await asyncio.to_thread(folders_of, listing.paths)
    shown = chosen(top, args.depth, _MOST_FOLDERS)
    room = Room(_MOST_FOLDERS + 10)
    files = counted(top.total, "file")
    spoken = languages(listing.paths)
    room.add(f"{area.shown('') or './'} {files}{f'; {spoken}' if spoken else ''}")
    room.add(*_names(top, 6 * _NAMES))
    left = sum(each.path not in shown for each in top.folders.values())
    unseen = sum(not room.add(_line(folder, hidden)) for folder, hidden in walked(top, shown))
    return ToolResult(room.text(_left_out(left + unseen), "" if listing.whole else "not all files were listed"), files)


def _line(folder: Folder, hidden: int) -> str:
    inner = f", {counted(hidden, 'folder')} not shown" if hidden else ""
    names = "".join(f": {names}" for names in _names(folder, _NAMES))
    return f"{'  ' * (folder.depth - 1)}{printable(folder.name)}/ {folder.total:,}{inner}{names}"


def _names(folder: Folder, most: int) -> Iterator[str]:
    """The names of the files right in a folder on one line; of many, how many of which kind."""
    text = ""
    for index, name in enumerate(sorted(folder.files, key=order)):
        more = f", {printable(name)}" if text else printable(name)
        if len(text) + len(more) > most:
            yield f"{text} … {len(folder.files) - index} more ({kinds_of_files(folder.files)})"
            return
        text += more
    if text:
        yield text


def _left_out(folders: int) -> str:
    return f"{counted(folders, 'folder')} left out: name one as path" if folders else ""
