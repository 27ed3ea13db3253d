from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from llmock.testing import LLMockServer

from tests.e2e.world import World


@pytest.fixture(scope="session")
def model_server() -> Iterator[LLMockServer]:
    with LLMockServer() as server:
        yield server


@pytest.fixture
def model(model_server: LLMockServer) -> LLMock:
    return LLMock(model_server).reset()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()
