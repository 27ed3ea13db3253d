"""A store to work with, as a file and in memory, and other processes that use it."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from smith_server.store.opening import Place, open_store

ROOT = Path(__file__).parents[2]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(params=["file", "memory"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[apsw.Connection]:
    opened = open_store(Place(tmp_path / "smith.db" if request.param == "file" else None))
    yield opened.connection
    opened.connection.close()


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts another process; what it was asked to do is in `child.py`."""
    running: list[subprocess.Popen[str]] = []

    def begin(doing: str, path: Path, *more: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.store.child", doing, str(path), *more]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that a process without rights can reach."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
        for part in [folder, *folder.rglob("*")]:
            if part.is_dir() and not part.is_symlink():
                part.chmod(0o777)
