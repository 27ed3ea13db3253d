"""Emacs in a project, with a real server or with one in the hands of the test."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.world import World
from tests.emacs import lisp
from tests.emacs.editor import Emacs
from tests.nvim import fake_server
from tests.nvim.server import TestServer


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    asyncio.run(made.close())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestServer]:
    """A server in the hands of the test; it counts in characters, as Emacs does."""
    running = TestServer(tmp_path / "wire")
    running.capabilities["positionEncoding"] = "utf-32"
    yield running
    running.close()


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Lisp, compiled."""
    return lisp.compiled(tmp_path_factory.mktemp("package") / "emacs")


@pytest.fixture
def emacs(project: Path, server: TestServer, package: Path) -> Iterator[Emacs]:
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LANG": "C.UTF-8"}
    running = Emacs(project, [sys.executable, fake_server.__file__, "--socket", server.path], environ, package)
    yield running
    running.close()
