import pytest

from smith_server.workspace.paths import locate
from tests.workspace.drafts import TEN


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(TEN.encode())
    return path


@pytest.fixture
def place(file, tmp_path):
    return locate("a.py", tmp_path)
