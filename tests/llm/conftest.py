"""Connections that are closed after each test."""

import socket
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from smith_server.llm.http import Connections


@pytest_asyncio.fixture
async def connections() -> AsyncIterator[Connections]:
    made = Connections()
    yield made
    await made.close()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections for as long as the test runs: bound, but not listened on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
