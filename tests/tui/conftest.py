import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import world
from tests.e2e.world import World

__all__ = ["world"]


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """No process of a session outlives its test, and no temporary file."""
    if "world" not in request.fixturenames:
        yield
        return
    own: World = request.getfixturevalue("world")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    own.environ["TMPDIR"] = str(temporary)
    mark = f"SMITH_HOME={own.environ['SMITH_HOME']}\0".encode()
    yield
    limit = time.monotonic() + 5
    while left := processes(mark):
        assert time.monotonic() < limit, left
        time.sleep(0.02)
    assert list(temporary.iterdir()) == []


def processes(mark: bytes) -> list[str]:
    """Those that carry `mark` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes():
                found.append((path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
