"""Memory of a process and all below it, shared pages counted in proportion (Linux)."""

from pathlib import Path

_PROC = Path("/proc")


def tree(pid: int) -> list[int]:
    """The process and its descendants."""
    parents = {int(entry.name): _parent(entry) for entry in _PROC.iterdir() if entry.name.isdigit()}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def proportional(pid: int) -> float:
    """Megabytes of the whole tree (PSS)."""
    return sum(map(_kilobytes, tree(pid))) / 1024


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _kilobytes(pid: int) -> int:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
