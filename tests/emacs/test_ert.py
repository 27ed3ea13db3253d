"""The tests that are written in Lisp, each in an Emacs and a project of its own."""

import pytest

from tests.e2e.world import World
from tests.emacs import lisp

pytestmark = pytest.mark.emacs

ALL = list(lisp.tests())


@pytest.mark.parametrize(("file", "name"), ALL, ids=[name for _, name in ALL])
def test_in_batch(world: World, file: str, name: str) -> None:
    lisp.run_test(world, file, name)
