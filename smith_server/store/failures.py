"""What the database library raises, as the program's own errors with a word on what to do next."""

import errno

import apsw

from smith_server.core.errors import AgentFailure, failure

_LOCKED = (apsw.BusyError, apsw.LockedError)
_READ_ONLY = (apsw.ReadOnlyError, apsw.PermissionsError)
_CORRUPT = (apsw.CorruptError, apsw.NotADBError)
_UNAVAILABLE = (apsw.IOError, apsw.CantOpenError, apsw.NoLFSError, apsw.NoMemError, apsw.InterruptError)


def is_damage(problem: apsw.Error) -> bool:
    """Whether the bytes of the file are wrong."""
    return isinstance(problem, _CORRUPT)


def typed(problem: apsw.Error, file: str) -> AgentFailure:
    """A failure of kind persistence that names `file`; `rejected` is a record that the schema does not take."""
    code, message = _told(problem, file)
    return failure("persistence", code, message, cause=f"{type(problem).__name__}: {problem}", file=file)


def typed_os(problem: OSError, file: str) -> AgentFailure:
    """As `typed`, for what the file system says of a folder or a file."""
    code = "read_only" if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "unavailable"
    why = problem.strerror or type(problem).__name__
    message = f"{file} cannot be used as a store: {why}. Check it, or set SMITH_HOME to a folder that can be written."
    return failure("persistence", code, message, cause=str(problem), file=file)


def _told(problem: apsw.Error, file: str) -> tuple[str, str]:
    if isinstance(problem, _LOCKED):
        return "locked", f"Another program keeps {file} locked. Nothing is lost; close that program if this stays."
    if isinstance(problem, apsw.FullError):
        return "full", f"The disk that holds {file} is full. Make room; until then nothing more is stored."
    if isinstance(problem, _READ_ONLY):
        return "read_only", f"{file} cannot be written. Check the permissions of the file and of its folder."
    if isinstance(problem, _CORRUPT):
        return "corrupt", f"{file} is damaged. Start smith again: it puts the file aside and begins a new one."
    if isinstance(problem, _UNAVAILABLE):
        return "unavailable", f"{file} cannot be used right now ({problem}). Check the disk and the folder."
    return "rejected", f"The store refused a record ({problem}). Please report this; nothing else was changed."
