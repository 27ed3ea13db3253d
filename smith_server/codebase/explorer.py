"""What the tools that explore share within one turn: the program, the list of files, the rules, the editor."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from smith_server.codebase.area import Area, Denied, area_at
from smith_server.codebase.grep import Found, Grep, Wish
from smith_server.codebase.index import Index, Progress, Scope
from smith_server.codebase.matching import Answer, Question
from smith_server.codebase.names import Names, find
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.codebase.tree import Listing, Tree
from smith_server.codebase.worker import Parsed
from smith_server.core.editor import Editor
from smith_server.workspace.files import read_file
from smith_server.workspace.ground import ground_in_buffer, ground_on_disk, require_text
from smith_server.workspace.paths import Place


class Explorer:
    """Looks at a codebase for one turn.

    `denied` keeps paths from the model (None: nothing is), `created` tells which files the turn
    has made so far; `index` remembers definitions from turn to turn.
    """

    def __init__(
        self,
        ripgrep: Ripgrep,
        editor: Editor,
        denied: Denied | None = None,
        created: Callable[[], Sequence[Path]] = tuple,
        index: Index | None = None,
    ) -> None:
        self.ripgrep = ripgrep
        self.editor = editor
        self.denied = denied
        self._tree = Tree(ripgrep, denied, created)
        self._grep = Grep(ripgrep, denied)
        self._index = index or Index(None)

    def area(self, path: str, cwd: Path) -> Area:
        """Where `path` leads; blocking. Raises what `area_at` raises."""
        return area_at(path, cwd, self.denied)

    async def listing(self, area: Area) -> Listing:
        """The files below a folder; raises what `Ripgrep.run` raises."""
        return await self._tree.listing(area)

    async def names(self, area: Area, query: str, most: int) -> Names:
        """Files by name. One that is gone by now is left out, and an empty answer is looked for again."""
        known = self._tree.knows(area)
        found = await self._names(area, query, most, fresh=False)
        return found if found.paths or not known else await self._names(area, query, most, fresh=True)

    async def search(self, wish: Wish, area: Area, most: int) -> Found:
        """Lines that match, in buffers where they differ from their files; raises what `Grep.search` raises."""
        return await self._grep.search(wish, area, await self.editor.unsaved(), most)

    async def text(self, area: Area, path: str) -> str:
        """The text of a file below `area` as the person sees it. Raises as reading does, and `binary_file`."""
        real = Path(area.real(path))
        place = Place(Path(area.spelled(path)), real, area.shown(path))
        buffer = await self.editor.open_text(real)
        if buffer is not None:
            ground = ground_in_buffer(place, buffer)
        else:
            ground = ground_on_disk(await asyncio.to_thread(read_file, place))
        require_text(ground)
        return ground.text

    async def symbols(self, asked: Question, area: Area, progress: Progress) -> Answer:
        """Definitions below `area`, in buffers as they stand in the editor; raises what `Index.search` raises."""
        paths = (area.file,) if area.file else (await self._tree.listing(area)).paths
        scope = Scope(area, paths, await self.editor.unsaved())
        return await self._index.search(asked, scope, self.ripgrep, progress)

    async def outline(self, area: Area) -> Parsed:
        """The definitions of the one file that `area` is. Raises as `text` does."""
        return await self._index.outline(area.file, await self.text(area, area.file))

    async def _names(self, area: Area, query: str, most: int, *, fresh: bool) -> Names:
        found = await find(self.ripgrep, await self._tree.listing(area, fresh=fresh), query, most)
        there = await asyncio.to_thread(_existing, area, found.paths)
        return Names(there, found.total - len(found.paths) + len(there), found.how, found.counted)


def _existing(area: Area, paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if os.path.lexists(area.real(path)))
