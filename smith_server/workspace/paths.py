"""A path as a model writes it, as the file system knows it, and as people are shown it."""

import os
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import ToolRefusal


class Place(Struct, frozen=True):
    """Where a path leads.

    `spelled` is absolute and normalised, `real` has all links followed (of a new file: those of
    the part that exists). `name` is for people: relative where it can be, with odd characters
    escaped and the target of a link named.
    """

    spelled: Path
    real: Path
    name: str


def locate(path: str, cwd: Path) -> Place:
    """The place of `path`, relative to `cwd` unless it begins with `/` or `~/`. Looks at the disk.

    Raises `ToolRefusal` `invalid_path`.
    """
    if not path.strip() or "\0" in path:
        raise ToolRefusal("invalid_path", "The path is empty or holds a NUL character. Give the path of a file.")
    expanded = os.path.expanduser(path) if path == "~" or path.startswith("~/") else path  # noqa: PTH111 - not `~user`
    spelled = Path(os.path.normpath(cwd / expanded))
    try:
        real = Path(os.path.realpath(cwd / expanded))
        home = Path(os.path.realpath(cwd))
    except UnicodeEncodeError:
        raise ToolRefusal("invalid_path", f"The path {printable(path)} cannot be the name of a file.") from None
    return Place(spelled, real, _name(spelled, real, cwd, home))


def printable(name: str) -> str:
    """`name` with every character escaped that is not seen as what it is."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in name
    )


def _name(spelled: Path, real: Path, cwd: Path, home: Path) -> str:
    asked, found = _below(spelled, cwd), _below(real, home)
    return printable(asked) if asked == found else f"{printable(asked)} (a link to {printable(found)})"


def _below(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
