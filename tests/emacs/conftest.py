import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    asyncio.run(made.close())
