"""The processes that take files apart, as the system tells them."""

import os
from pathlib import Path


def children(of=None):
    """Processes of ours, or `of` another process, that take files apart."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == (of or os.getpid()) and b"codebase.worker" in words:
            found.append(int(folder.name))
    return found
