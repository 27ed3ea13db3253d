"""Whether another editor holds a file: the marks that Emacs, Vim and Neovim leave for each other. Blocking.

Their unsaved text would be lost, so such a file is not written. A mark of a dead process is
named and does not count; one of another machine counts, since it cannot be asked.
"""

import os
import re
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.paths import Place, printable

_EMACS_OWNER = re.compile(r".*@(?P<host>.+)\.(?P<pid>\d+)(?::\d+)?", re.DOTALL)
_EDITOR_NAMES = ("vi", "emacs")
_VIM_HEADER = 108


class Mark(Struct, frozen=True):
    """A lock or swap file of an editor. `living` when its process runs, or may run on another machine."""

    path: Path
    editor: str
    pid: int
    host: str
    living: bool


def require_free(place: Place, environment: Mapping[str, str]) -> list[Mark]:
    """The stale marks at a file; raises `ToolRefusal` `held_by_editor` when a living editor holds it."""
    stale = []
    for mark in editor_marks(place.real, environment):
        if mark.living:
            raise ToolRefusal(
                "held_by_editor",
                f"{place.name} is open in another editor ({mark.editor}, process {mark.pid} on "
                f"{mark.host or 'this machine'}; {printable(mark.path.name)}), which may hold unsaved text. "
                "Nothing was written. Ask the user to close it there.",
            )
        stale.append(mark)
    return stale


def editor_marks(real: Path, environment: Mapping[str, str]) -> list[Mark]:
    """All marks for the file at the real path `real`."""
    found = [
        _emacs_mark(real.with_name(f".#{real.name}")),
        *(_vim_mark(path) for path in _swap_paths(real, environment)),
    ]
    return [mark for mark in found if mark is not None]


def _swap_paths(real: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    hidden = real.name if real.name.startswith(".") else f".{real.name}"
    state = Path(environment.get("XDG_STATE_HOME") or Path(environment.get("HOME", "/"), ".local/state"))
    encoded = str(real).replace("/", "%")
    for extension in ("swp", "swo", "swn"):
        yield real.with_name(f"{hidden}.{extension}")
        for application in dict.fromkeys(("nvim", environment.get("NVIM_APPNAME") or "nvim")):
            yield state / application / "swap" / f"{encoded}.{extension}"


def _vim_mark(path: Path) -> Mark | None:
    header = _beginning(path)
    if len(header) < _VIM_HEADER or not header.startswith(b"b0"):
        return None
    pid = int.from_bytes(header[24:28], "little")
    host = header[68:108].split(b"\0")[0].decode("utf-8", "replace")
    return Mark(path, "Vim", pid, host, _lives(pid, host))


def _emacs_mark(path: Path) -> Mark | None:
    try:
        owner = str(path.readlink())
    except OSError:
        owner = _beginning(path).decode("utf-8", "replace")
    match = _EMACS_OWNER.fullmatch(owner.strip())
    if match is None:
        return None
    pid, host = int(match["pid"]), match["host"]
    return Mark(path, "Emacs", pid, host, _lives(pid, host))


def _beginning(path: Path) -> bytes:
    """The first bytes of a regular file, none of anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(descriptor, 1024) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _lives(pid: int, host: str) -> bool:
    if not _is_here(host):
        return True
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (ProcessLookupError, OverflowError):
        return False
    return _may_be_editor(pid)


def _is_here(host: str) -> bool:
    own = {socket.gethostname(), os.uname().nodename}
    return not host or host in own or host.partition(".")[0] in {name.partition(".")[0] for name in own}


def _may_be_editor(pid: int) -> bool:
    """False for a zombie, and for a program that only has the number of an editor that is gone."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    name, _, rest = said.partition("(")[2].rpartition(")")
    return not rest.startswith(" Z") and (name == "ex" or any(part in name.lower() for part in _EDITOR_NAMES))
