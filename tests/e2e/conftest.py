from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.testing import LLMockServer

from tests.e2e.strict_model import StrictModel
from tests.e2e.world import World


@pytest.fixture(scope="session")
def model_server() -> Iterator[LLMockServer]:
    with LLMockServer() as server:
        yield server


class Model(LLMock):
    """What is scripted meets streamed requests alone, not the one that opens a connection early."""

    @property
    def requests(self) -> list[Any]:
        """Those with a body: a list of models has none."""
        return [each for each in super().requests if each.body is not None]

    def add(self, *behaviors: Any) -> LLMock:
        return super().add(*(replace(each, match=replace(each.match, stream=True)) for each in behaviors))


@pytest.fixture
def model(model_server: LLMockServer) -> LLMock:
    return Model(model_server).reset()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


@pytest.fixture
async def strict() -> AsyncIterator[StrictModel]:
    """A model server that refuses what real providers refuse."""
    async with StrictModel().served() as model:
        yield model
