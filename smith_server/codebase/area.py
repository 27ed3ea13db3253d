"""Where to look: one folder or one file, and which paths below it nobody may see."""

import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.files import read_refusal, require_regular
from smith_server.workspace.paths import Place, locate, printable

Denied = Callable[[str], bool]
"""Whether an absolute path, as it is spelled or with links followed, is kept from the model; None for no rules."""


class Area(Struct, frozen=True):
    """A place to search. `folder` is real and absolute; `file` is a name in it when only that file is meant.

    `prefix` stands before relative paths when they are shown.
    """

    place: Place
    folder: Path
    prefix: str = ""
    file: str = ""

    def shown(self, path: str) -> str:
        """A path below the folder as people write it, on one line."""
        return printable(self.prefix + path)

    def spelled(self, path: str) -> str:
        """The absolute path with the links that were in the argument."""
        top = self.place.spelled.parent if self.file else self.place.spelled
        return f"{top}/{path}" if path else str(top)

    def real(self, path: str) -> str:
        """The absolute path without links."""
        return f"{self.folder}/{path}" if path else str(self.folder)

    def visible(self, path: str, denied: Denied | None) -> bool:
        """Whether neither spelling of a path below the folder is denied."""
        if denied is None:
            return True
        real, spelled = self.real(path), self.spelled(path)
        return not (denied(real) or (spelled != real and denied(spelled)))


def area_at(path: str, cwd: Path, denied: Denied | None = None) -> Area:
    """The area that `path` (relative to `cwd`, "" for all of it) names. Looks at the disk.

    Raises `ToolRefusal` as reading does, and `path_denied`.
    """
    place = locate(path or ".", cwd)
    if denied is not None and (denied(str(place.spelled)) or denied(str(place.real))):
        raise ToolRefusal("path_denied", f"A rule of the user keeps {place.name} from you.")
    try:
        status = place.real.stat()
    except OSError as problem:
        raise read_refusal(problem, place.name) from problem
    if stat.S_ISDIR(status.st_mode):
        return Area(place, place.real, _prefix(place.spelled, cwd))
    require_regular(status, place.name)
    return Area(place, place.real.parent, _prefix(place.spelled.parent, cwd), place.real.name)


def _prefix(folder: Path, cwd: Path) -> str:
    shown = str(folder.relative_to(cwd) if folder.is_relative_to(cwd) else folder)
    return "" if shown == "." else f"{shown.rstrip('/')}/"
