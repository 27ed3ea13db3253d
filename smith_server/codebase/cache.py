"""What was found in files, kept between processes: by the content of a file, so that a change needs no notice.

One file per root. Damage or another version is as good as nothing; the last writer wins, and
whatever is lost is found again.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from smith_server.codebase.symbol import Packed

VERSION = 1
MOST_FILES = 20_000
"""Files of one root that are remembered."""


Stamp = tuple[int, int, int, int]
"""Size, times of change of content and of status, inode: what `stat` says of a file that has not changed."""


class Kept(Struct, array_like=True):
    """`seen` are the files of a root with the hash that each had, `symbols` what stands in a content."""

    version: int = VERSION
    seen: dict[str, tuple[Stamp, bytes]] = {}
    symbols: dict[bytes, Packed] = {}


def stamp_of(path: str) -> Stamp | None:
    """The stamp of the file at `path`, None when there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - for very many paths
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class Cache:
    """The remembered files of one root in `folder`; without a folder nothing outlives the process."""

    def __init__(self, folder: Path | None, root: Path) -> None:
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:24]
        self._path = folder / f"{name}.symbols" if folder is not None else None

    def load(self) -> Kept:
        """What was kept, or nothing. Blocking."""
        if self._path is None:
            return Kept()
        try:
            kept = msgspec.msgpack.decode(self._path.read_bytes(), type=Kept)
        except (OSError, msgspec.DecodeError):
            return Kept()
        return kept if kept.version == VERSION else Kept()

    def save(self, kept: Kept) -> None:
        """Keep it, without what no file has any more once that is more than half. Blocking."""
        used = {found for _, found in kept.seen.values()}
        if len(kept.symbols) > 2 * len(used):
            kept.symbols = {key: kept.symbols[key] for key in used if key in kept.symbols}
        if self._path is None:
            return
        with suppress(OSError):  # a full or read-only disk: the next process looks again
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=".symbols-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(msgspec.msgpack.encode(kept))
                Path(name).replace(self._path)
            except OSError:
                Path(name).unlink(missing_ok=True)
