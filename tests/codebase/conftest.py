from pathlib import Path

import pytest

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.ripgrep import Ripgrep
from smith_server.proc.looking import Lookout
from tests.fakes.editor import FakeEditor


@pytest.fixture
def editor():
    return FakeEditor()


@pytest.fixture
def ripgrep():
    return Ripgrep(Lookout())


@pytest.fixture
def explorer(ripgrep, editor):
    return Explorer(ripgrep, editor)


@pytest.fixture
def project(tmp_path):
    """Writes files below a folder: path to text or bytes."""
    folder = tmp_path / "project"
    folder.mkdir()

    def write(files: dict[str, str | bytes]) -> Path:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder

    return write
