from pathlib import Path

import pytest

from tests.config.sources import Scratch


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)
