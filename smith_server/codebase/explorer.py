"""What the tools that explore share within one turn: the program, the list of files, the rules, the editor."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from smith_server.codebase.base import Base, Denied, base_at
from smith_server.codebase.grep import Found, Grep, Wish
from smith_server.codebase.names import Names, find
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.codebase.tree import Listing, Tree
from smith_server.core.editor import Editor
from smith_server.workspace.files import read_file
from smith_server.workspace.ground import ground_in_buffer, ground_on_disk, require_text
from smith_server.workspace.paths import Place


class Explorer:
    """Looks at a codebase for one turn.

    `denied` keeps paths from the model (None: nothing is), `created` tells which files the turn
    has made so far.
    """

    def __init__(
        self,
        ripgrep: Ripgrep,
        editor: Editor,
        denied: Denied | None = None,
        created: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        self.ripgrep = ripgrep
        self.editor = editor
        self.denied = denied
        self._tree = Tree(ripgrep, denied, created)
        self._grep = Grep(ripgrep, denied)

    def base(self, path: str, cwd: Path) -> Base:
        """Where `path` leads; blocking. Raises what `base_at` raises."""
        return base_at(path, cwd, self.denied)

    async def listing(self, base: Base) -> Listing:
        """The files below a folder; raises what `Ripgrep.run` raises."""
        return await self._tree.listing(base)

    async def names(self, base: Base, query: str, most: int) -> Names:
        """Files by name. One that is gone by now is left out, and an empty answer is looked for again."""
        known = self._tree.knows(base)
        found = await self._names(base, query, most, fresh=False)
        return found if found.paths or not known else await self._names(base, query, most, fresh=True)

    async def search(self, wish: Wish, base: Base, most: int) -> Found:
        """Lines that match, in buffers where they differ from their files; raises what `Grep.search` raises."""
        return await self._grep.search(wish, base, await self.editor.unsaved(), most)

    async def text(self, base: Base, path: str) -> str:
        """The text of a file below `base` as the person sees it. Raises what reading a file raises, and `binary_file`."""
        real = Path(base.real(path))
        place = Place(Path(base.spelled(path)), real, base.shown(path))
        buffer = await self.editor.open_text(real)
        if buffer is not None:
            ground = ground_in_buffer(place, buffer)
        else:
            ground = ground_on_disk(await asyncio.to_thread(read_file, place))
        require_text(ground)
        return ground.text

    async def _names(self, base: Base, query: str, most: int, *, fresh: bool) -> Names:
        found = await find(self.ripgrep, await self._tree.listing(base, fresh=fresh), query, most)
        there = tuple(path for path in found.paths if Path(base.real(path)).exists())
        return Names(there, found.total - len(found.paths) + len(there), found.how, found.counted)
