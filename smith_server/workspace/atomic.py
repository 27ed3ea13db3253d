"""Writing a file so that there are the old bytes or the new ones, whatever happens. Blocking.

The new bytes go to a temporary file in the same folder, which then takes the name. The temporary
file is locked while its writer lives, so that what a dead one left can be told and removed.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.files import OnDisk, read_file, require_regular, stamp_of
from smith_server.workspace.paths import Place

_TEMPORARY = re.compile(r"\.smith-[0-9a-f]{16}\.tmp")


def replace_file(before: OnDisk, data: bytes) -> None:
    """Give the file `before` the bytes `data`, if it is still what was read; mode and owner stay.

    Raises `ToolRefusal`: `hash_mismatch` when its bytes are others by now, `file_not_found`,
    `target_changed`, `owner_differs`, `disk_full`, `permission_denied`, `read_only`, `write_failed`.
    """
    place = before.place
    with _refusing(place.name), _opened(place.real.parent) as folder, _temporary(folder, 0o600) as (descriptor, name):
        _write_all(descriptor, data)
        _take_over(descriptor, before)
        os.fsync(descriptor)
        with _alone(folder):
            _require_unchanged(before, folder)
            os.rename(name, place.real.name, src_dir_fd=folder, dst_dir_fd=folder)
        _sync(folder)


def create_file(place: Place, data: bytes) -> None:
    """Make a new file, and the folders above it. Raises `file_exists` when there is one by now,
    `not_a_directory`, and what `replace_file` raises."""
    real = place.real
    with _refusing(place.name):
        real.parent.mkdir(parents=True, exist_ok=True)
        _require_real(real.parent, place.name)
        with _opened(real.parent) as folder, _temporary(folder, 0o666) as (descriptor, name):
            _write_all(descriptor, data)
            os.fsync(descriptor)
            _link(folder, name, real.name, data)
            _sync(folder)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the temporary files in `folder` whose writer is dead; returns them."""
    try:
        left = [path for path in folder.iterdir() if _TEMPORARY.fullmatch(path.name)]
    except OSError:
        return []
    return [path for path in left if _remove_if_left(path)]


def _remove_if_left(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _temporary(folder: int, mode: int) -> Iterator[tuple[int, str]]:
    descriptor, name = _locked_file(folder, mode)
    try:
        yield descriptor, name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        os.close(descriptor)


def _locked_file(folder: int, mode: int) -> tuple[int, str]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        name = f".smith-{secrets.token_hex(8)}.tmp"
        descriptor = os.open(name, flags, mode, dir_fd=folder)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor, name
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _take_over(descriptor: int, before: OnDisk) -> None:
    """Owner, attributes and mode of the file that will be replaced; the mode last, as `chown` clears bits of it."""
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (before.owner, before.group):
        try:
            os.fchown(descriptor, before.owner, before.group)
        except PermissionError:
            raise ToolRefusal(
                "owner_differs",
                f"{before.place.name} belongs to another user or group, and replacing it would change that. "
                "Nothing was written. Ask the user.",
            ) from None
    if sys.platform == "linux":
        with suppress(OSError):
            for attribute in os.listxattr(before.place.real):
                os.setxattr(descriptor, attribute, os.getxattr(before.place.real, attribute))
    os.fchmod(descriptor, stat.S_IMODE(before.mode))


@contextmanager
def _alone(folder: int) -> Iterator[None]:
    """Keep other writers of ours out of the folder, whatever their process, between the last check and the rename."""
    with suppress(OSError):
        fcntl.flock(folder, fcntl.LOCK_EX)
    yield


def _require_unchanged(before: OnDisk, folder: int) -> None:
    place = before.place
    _require_real(place.real, place.name)
    status = os.stat(place.real.name, dir_fd=folder, follow_symlinks=False)
    require_regular(status, place.name)
    if stamp_of(status) == before.stamp:
        return
    if status.st_size != len(before.data) or read_file(place).data != before.data:
        raise ToolRefusal("hash_mismatch", f"{place.name} was changed on disk a moment ago. Nothing was written.")


def _require_real(path: Path, name: str) -> None:
    if os.path.realpath(path) != str(path):
        raise ToolRefusal("target_changed", f"{name} leads to another place than a moment ago. Nothing was written.")


def _link(folder: int, name: str, target: str, data: bytes) -> None:
    """Give the finished file its name, never over another one."""
    try:
        os.link(name, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as problem:
        if problem.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        _write_new(folder, target, data)


def _write_new(folder: int, target: str, data: bytes) -> None:
    """Where the file system knows no hard links."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        _write_all(descriptor, data)
        os.fsync(descriptor)
    except OSError:
        os.unlink(target, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def _sync(folder: int) -> None:
    with suppress(OSError):
        os.fsync(folder)


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise _write_refusal(problem, name) from problem


def _write_refusal(problem: OSError, name: str) -> ToolRefusal:
    match problem.errno:
        case errno.EEXIST:
            return ToolRefusal("file_exists", f"{name} exists by now. Nothing was written: read it first.")
        case errno.ENOENT:
            return ToolRefusal("file_not_found", f"{name} or its folder is gone. Nothing was written.")
        case errno.ENOTDIR:
            return ToolRefusal("not_a_directory", f"{name} cannot be made: a part of its path is a file.")
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return ToolRefusal("disk_full", f"There is no room for {name}. Nothing was written; the file is as it was.")
        case errno.EACCES | errno.EPERM:
            return ToolRefusal("permission_denied", f"The folder of {name} cannot be written. Nothing was written.")
        case errno.EROFS:
            return ToolRefusal("read_only", f"{name} is on a file system that cannot be written.")
        case errno.ENAMETOOLONG:
            return ToolRefusal("name_too_long", "The name is longer than the file system allows.")
        case _:
            return ToolRefusal("write_failed", f"{name} was not written: {problem.strerror}.")
