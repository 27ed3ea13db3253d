"""The files of a folder that are neither ignored nor hidden nor denied: listed once, kept for one turn."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from smith_server.codebase.area import Area, Denied
from smith_server.codebase.rank import order
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.core.errors import ToolRefusal

MOST_BYTES = 256 << 20
"""Of names that are taken in; a folder with more has to be looked at in parts."""


class Listing(Struct, frozen=True):
    """Paths below a folder, source first, near ones first.

    `joined` is all of them between NUL characters, `lower` the same in small letters. `whole` is
    false when the listing was ended at its limit.
    """

    paths: tuple[str, ...]
    joined: str
    lower: str
    whole: bool = True


class Tree:
    """Lists for one turn. `created` gives the files that the turn has made so far, in order."""

    def __init__(self, ripgrep: Ripgrep, denied: Denied | None, created: Callable[[], Sequence[Path]]) -> None:
        self.denied = denied
        self._ripgrep = ripgrep
        self._created = created
        self._kept: dict[Path, tuple[Listing, int]] = {}
        self._busy: dict[Path, asyncio.Lock] = {}

    async def listing(self, area: Area, *, fresh: bool = False) -> Listing:
        """The files below `area`, as they were when it was first asked for, and own new ones.

        With `fresh` they are listed again. Raises what `Ripgrep.run` raises.
        """
        async with self._busy.setdefault(area.folder, asyncio.Lock()):
            if fresh or area.folder not in self._kept:
                count = len(self._created())
                self._kept[area.folder] = (await self._list(area), count)
            return self._with_created(area)

    def knows(self, area: Area) -> bool:
        """Whether the next listing of `area` comes from memory."""
        return area.folder in self._kept

    async def _list(self, area: Area) -> Listing:
        pieces: list[bytes] = []

        def take(piece: bytes) -> bool:
            pieces.append(piece)
            return len(pieces) * len(piece) < MOST_BYTES

        looked = await self._ripgrep.run(("--files", "--null", "--", "./"), area.folder, take)
        if looked.ended == "limit" and not pieces:
            raise ToolRefusal("search_timeout", "Listing the files took too long. Name a folder further down.")
        return await asyncio.to_thread(self._listing, area, b"".join(pieces), looked.ended == "itself")

    def _listing(self, area: Area, names: bytes, whole: bool) -> Listing:
        paths = [os.fsdecode(name.removeprefix(b"./")) for name in names.split(b"\0")[:-1]]
        if self.denied is not None:
            paths = [path for path in paths if area.visible(path, self.denied)]
        return _listed(paths, whole)

    def _with_created(self, area: Area) -> Listing:
        listing, count = self._kept[area.folder]
        created = self._created()
        if len(created) > count:
            fresh = [str(path.relative_to(area.folder)) for path in created[count:] if path.is_relative_to(area.folder)]
            fresh = [path for path in fresh if area.visible(path, self.denied)]
            if not set(fresh) <= set(listing.paths):
                listing = _listed({*listing.paths, *fresh}, listing.whole)
            self._kept[area.folder] = (listing, len(created))
        return listing


def _listed(paths: Sequence[str] | set[str], whole: bool) -> Listing:
    ordered = tuple(sorted(paths, key=order))
    joined = "\0".join(("", *ordered, "")) if ordered else ""
    lower = joined.lower()
    # Some letters are two in lower case; then places in the one are not those in the other.
    return Listing(ordered, joined, lower if len(lower) == len(joined) else joined, whole)
