from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smith_server.runtime.services import Services
from tests.runtime.test_composition import opened, options_in


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    made = await opened(options_in(tmp_path))
    yield made
    await made.close()
