"""Whether a folder lies on another machine, where shared memory between processes does not work."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_TYPES = frozenset(
    {
        *("nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs", "afs", "webdav", "davfs"),
        *("9p", "ceph", "lustre", "glusterfs", "ncpfs", "ocfs2", "gfs2"),
    }
)
_FUSE_TYPES = frozenset({"sshfs", "glusterfs", "s3fs", "rclone", "davfs", "ceph", "nfs", "smb"})


def on_network(folder: Path) -> bool:
    """Whether `folder` is on a network file system, by the type of the mount that it lies in.

    Where the mounts cannot be learned it counts as local.
    """
    return is_network_type(_type_of(folder))


def is_network_type(name: str) -> bool:
    """Whether a file system of this type name is a network file system."""
    return name in _TYPES or name.removeprefix("fuse.") in _FUSE_TYPES


def _type_of(folder: Path) -> str:
    place, best, found = os.path.realpath(folder), "", ""
    for point, kind in _mounts():
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        # Of two mounts on one point the later one is seen.
        if inside and len(point) >= len(best):
            best, found = point, kind
    return found


def _mounts() -> Iterator[tuple[str, str]]:
    try:
        listing = Path("/proc/self/mountinfo").read_bytes()
    except OSError:
        yield from _mounts_by_command()
        return
    for line in listing.splitlines():
        left, _, right = line.partition(b" - ")
        fields = left.split()
        if len(fields) > 4 and right:
            yield os.fsdecode(_unescaped(fields[4])), right.split()[0].decode("ascii", "replace")


def _unescaped(point: bytes) -> bytes:
    for code, char in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        point = point.replace(code, char)
    return point


def _mounts_by_command() -> Iterator[tuple[str, str]]:
    try:
        told = subprocess.run(["mount"], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return
    for line in told.stdout.splitlines():
        place, _, kind = line.rpartition(" (")
        yield place.partition(" on ")[2], kind.partition(",")[0].rstrip(")")
