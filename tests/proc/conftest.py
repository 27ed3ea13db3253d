"""Processes of a session that is closed when the test is over."""

from collections.abc import AsyncIterator

import pytest

from smith_server.proc.guard import Guard
from smith_server.proc.run import Processes


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    guard = Guard()
    session = Processes(guard)
    yield session
    await session.close()
    guard.close()
