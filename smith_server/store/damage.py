"""What can be wrong with the file of a store, and how a wrong one is put aside."""

import time
from contextlib import suppress
from pathlib import Path

import apsw
from msgspec import Struct

MOST_TO_CHECK = 32 << 20
"""Bytes of a store that may be checked unasked; a larger one is checked only after damage was met."""

_MAGIC = b"SQLite format 3\0"
_SUSPECT = "suspect"
_SIDES = ("", "-wal", "-shm", "-journal")


class Damaged(Exception):
    """The file holds no store that can be worked with; the text says why."""


class Header(Struct, frozen=True):
    """What the first bytes of a database file say."""

    application: int
    version: int
    is_wal: bool


def read_header(file: Path) -> Header | None:
    """The header; None for an empty file. Raises `Damaged` when it is no database.

    Nothing is made or locked. It goes through SQLite because a plain `close` of the file would
    drop the locks that another connection of this process holds on it.
    """
    handle = apsw.VFSFile("", str(file), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        size = handle.xFileSize()
        head = handle.xRead(min(size, 100), 0) if size else b""
    finally:
        handle.xClose()
    if not size:
        return None
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise Damaged("it is no database")
    version, application = (int.from_bytes(head[at : at + 4], "big", signed=True) for at in (60, 68))
    return Header(application, version, head[18] == 2)


def check(connection: apsw.Connection, file: Path) -> None:
    """Look through the structure of the file, unless it is as it was when it was last known to be good.

    Raises `Damaged`, or `apsw.Error` where reading fails.
    """
    seal = _read_seal(file)
    if seal == _state(file) or (seal != _SUSPECT and file.stat().st_size > MOST_TO_CHECK):
        return
    told = connection.execute("PRAGMA quick_check(1)").get
    if told != "ok":
        raise Damaged(str(told))
    set_seal(file)


def set_seal(file: Path) -> None:
    """Note that the file is good as it is now."""
    state = _state(file)
    if _read_seal(file) != state:
        _write_seal(file, state)


def set_suspect(file: Path) -> None:
    """Have the file checked at the next start, whatever its size."""
    _write_seal(file, _SUSPECT)


def put_aside(file: Path) -> Path:
    """Rename the store and what belongs to it, unchanged; the new name of the store itself."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside, tries = file.with_name(f"{file.name}.damaged-{stamp}"), 1
    while aside.exists():
        aside, tries = file.with_name(f"{file.name}.damaged-{stamp}-{tries}"), tries + 1
    for side in _SIDES:
        part = file.with_name(file.name + side)
        if part.exists():
            part.rename(aside.with_name(aside.name + side))
    _seal(file).unlink(missing_ok=True)
    return aside


def _seal(file: Path) -> Path:
    return file.with_name(f"{file.name}.seal")


def _read_seal(file: Path) -> str:
    try:
        return _seal(file).read_text("utf-8", "replace")
    except OSError:
        return ""


def _write_seal(file: Path, text: str) -> None:
    # Without the note the next start looks through the file once more: no reason to fail.
    with suppress(OSError):
        _seal(file).write_text(text)


def _state(file: Path) -> str:
    """Changes whenever anything is done to the file: nobody can set the time of the last change back."""
    found = file.stat()
    return f"{found.st_ino} {found.st_size} {found.st_ctime_ns}"
