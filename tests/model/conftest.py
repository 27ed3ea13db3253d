"""A real model, small enough for a test run: one child process for all tests here."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from smith_server.llm.local import LocalModel, Served

REPO = Path(__file__).resolve().parents[2]
PACKAGES = REPO / ".cache" / "model"
WEIGHTS = PACKAGES / "gemma-3-270m.gguf"
SEARCHED = os.pathsep.join([str(REPO), str(PACKAGES)])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def served() -> AsyncIterator[Served]:
    model = LocalModel(WEIGHTS, {**os.environ, "PYTHONPATH": SEARCHED})
    yield await model.served()
    assert model.is_running
    await model.close()
    assert not model.is_running
