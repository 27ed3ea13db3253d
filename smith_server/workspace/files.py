"""Reading a file without being fooled by what it is. Blocking: call it in a thread.

What a file is gets asked of the name first, since opening a device may do something, and then of
the opened descriptor, since the name may mean something else by then. Opening never waits.
"""

import errno
import os
import stat

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.paths import Place

MOST_BYTES = 10_000_000
"""Larger files are not read into memory."""


class Stamp(Struct, frozen=True):
    """What tells one state of a file from another without reading it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


class OnDisk(Struct, frozen=True):
    """The bytes of a regular file, and what else has to survive its replacement."""

    place: Place
    data: bytes
    stamp: Stamp
    mode: int
    owner: int
    group: int
    links: int


def read_file(place: Place, most_bytes: int = MOST_BYTES) -> OnDisk:
    """The file at `place`, links followed.

    Raises `ToolRefusal`: `file_not_found`, `is_directory`, `not_regular_file`, `too_large`,
    `permission_denied`, `link_loop`, `name_too_long`, `read_failed`.
    """
    try:
        require_regular(place.real.stat(), place.name)
        descriptor = os.open(place.real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as problem:
        raise read_refusal(problem, place.name) from problem
    try:
        status = os.fstat(descriptor)
        require_regular(status, place.name)
        if status.st_size > most_bytes:
            raise _too_large(place.name, f"{status.st_size:,}", most_bytes)
        data = _read_all(descriptor, most_bytes, place.name)
    except OSError as problem:
        raise read_refusal(problem, place.name) from problem
    finally:
        os.close(descriptor)
    return OnDisk(place, data, stamp_of(status), status.st_mode, status.st_uid, status.st_gid, status.st_nlink)


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of what `stat` said."""
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def require_regular(status: os.stat_result, name: str) -> None:
    """Raise `is_directory` or `not_regular_file` for what has no bytes of its own."""
    if stat.S_ISDIR(status.st_mode):
        raise ToolRefusal("is_directory", f"{name} is a directory. Name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolRefusal("not_regular_file", f"{name} is {_kind(status.st_mode)}, not a regular file.")


def require_writable(file: OnDisk) -> None:
    """Raise `read_only` when the permissions of the file do not let it be written.

    A rename would get round them, so they are looked at, for root as well.
    """
    if not file.mode & 0o222 or not os.access(file.place.real, os.W_OK):
        raise ToolRefusal(
            "read_only", f"{file.place.name} is write-protected. Ask the user before changing its permissions."
        )


def read_refusal(problem: OSError, name: str) -> ToolRefusal:
    """What a failure of the system means to whoever asked for the file `name`."""
    match problem.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return ToolRefusal("file_not_found", f"There is no file {name}.")
        case errno.EACCES | errno.EPERM:
            return ToolRefusal("permission_denied", f"The permissions of {name} or of its folder do not allow this.")
        case errno.ELOOP:
            return ToolRefusal("link_loop", f"{name} is a link that leads in a circle.")
        case errno.ENAMETOOLONG:
            return ToolRefusal("name_too_long", "The name is longer than the file system allows.")
        case errno.ENXIO | errno.ENODEV:
            return ToolRefusal("not_regular_file", f"{name} is a socket or a device, not a regular file.")
        case _:
            return ToolRefusal("read_failed", f"{name} cannot be read: {problem.strerror}.")


def _read_all(descriptor: int, most_bytes: int, name: str) -> bytes:
    """All bytes: files of `/proc` say that they are empty, and a file may grow meanwhile."""
    pieces, left = [], most_bytes + 1
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise _too_large(name, f"more than {most_bytes:,}", most_bytes)
    return b"".join(pieces)


def _too_large(name: str, size: str, most_bytes: int) -> ToolRefusal:
    return ToolRefusal(
        "too_large", f"{name} has {size} bytes; the limit is {most_bytes:,}. Look at parts of it with a command."
    )


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((kind for test, kind in kinds if test(mode)), "something else")
