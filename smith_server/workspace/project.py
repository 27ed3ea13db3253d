"""Which project a folder belongs to: the root of its checkout and where that came from.

Only files are read, a few small ones: git itself is not needed, and nothing that a checkout
configures can run. Blocking, and quick.
"""

import asyncio
import os
from pathlib import Path

from msgspec import Struct

from smith_server.config.paths import project_root
from smith_server.core.errors import ToolRefusal
from smith_server.workspace.files import read_file
from smith_server.workspace.gitconfig import values
from smith_server.workspace.origin import project_id, read_origin
from smith_server.workspace.paths import locate

MOST_BYTES = 1 << 20
"""Larger files of git are taken for none."""


class Project(Struct, frozen=True):
    """A checkout. `root` is the top of its work tree, of a linked one or of a submodule its own.

    `origin` may be shown to anybody: it holds no credentials. `canonical` and `id` are the
    identity, the same in every clone; the three are "" without an origin that is one.
    """

    root: Path
    origin: str = ""
    canonical: str = ""
    id: str = ""


def find_project(folder: Path) -> Project | None:
    """The project that `folder` lies in; None outside of any."""
    root = project_root(folder)
    if not os.path.lexists(root / ".git"):
        return None
    origin = read_origin(_configured_origin(root), root)
    if origin is None:
        return Project(root)
    return Project(root, origin.shown, origin.canonical, project_id(origin.canonical))


class Projects:
    """Finds projects; the files of one are read again only when they changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[object, Project | None]] = {}

    async def find(self, folder: Path) -> Project | None:
        """`find_project`, without waiting for a thread where nothing changed since the last time."""
        now = _stamp(folder)
        known = self._known.get(folder)
        if known is None or known[0] != now:
            known = self._known[folder] = (now, await asyncio.to_thread(find_project, folder))
        return known[1]


def _stamp(folder: Path) -> object:
    """Changes whenever another project may be found. Where git's files lie elsewhere it always does."""
    root = project_root(folder)
    try:
        git, config = (root / ".git").stat(), (root / ".git" / "config").stat()
    except NotADirectoryError:
        return object()
    except OSError:
        return str(root), os.path.lexists(root / ".git")
    return str(root), git.st_ino, config.st_ino, config.st_size, config.st_mtime_ns


def _configured_origin(root: Path) -> str:
    """The address that git fetches from, as it is written down: no rewriting by `insteadOf`."""
    folder = _git_folder(root)
    text = _read(folder / "config").decode("utf-8", "replace")
    return next(iter(values(text, "remote", "origin", "url")), "")


def _git_folder(root: Path) -> Path:
    """Where the configuration lies: linked work trees share one, a submodule has its own elsewhere."""
    folder = root / ".git"
    if not folder.is_dir():
        mark, _, path = os.fsdecode(_read(folder)).partition(":")
        folder = root / path.strip() if mark == "gitdir" else folder
    shared = os.fsdecode(_read(folder / "commondir")).strip()
    return folder / shared


def _read(path: Path) -> bytes:
    """The bytes of a small regular file; of anything else none."""
    try:
        return read_file(locate(str(path), path.parent), MOST_BYTES).data
    except ToolRefusal:
        return b""
