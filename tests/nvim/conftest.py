"""A project folder, a server in the test's hands, and a real Neovim in that folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project; the editor keeps its state beside it."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestServer]:
    running = TestServer(tmp_path / "wire")
    yield running
    running.close()


@pytest.fixture
def editor(project: Path, server: TestServer) -> Iterator[TestEditor]:
    running = TestEditor(project, server)
    yield running
    running.close()
