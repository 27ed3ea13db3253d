"""However Emacs ends, nothing of the server is left."""

import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import living
from tests.e2e.world import World
from tests.emacs.editor import Emacs
from tests.nvim.server import until

pytestmark = pytest.mark.emacs

MARK = f"60.{secrets.randbelow(10**9):09d}"


@pytest.fixture
def working(world: World, package: Path) -> Iterator[Emacs]:
    """An Emacs whose server runs a command that ignores being asked to end."""
    command = f"trap '' TERM; sleep {MARK} & setsid sleep {MARK} & sleep {MARK}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": command}}])
    emacs = Emacs(world.root, [sys.executable, "-m", "smith_server", "serve"], world.environ, package)
    emacs.edit(world.file("a.txt", "one\n"))
    emacs.start()
    until(emacs.is_ready)
    turn = "smith-protocol-command-turn '(:text \"go\") #'ignore"
    emacs.lisp(f"(ignore (smith-session-command (cdar smith-session--all) {turn}))")
    until(lambda: len(living(f"sleep {MARK}")) >= 3)
    yield emacs
    emacs.close()


@pytest.mark.parametrize("how", ["killed", "left"])
def test_server_and_children_go_with_emacs(working: Emacs, how: str) -> None:
    servers = [Path(f"/proc/{pid}/exe") for pid in working.children()]
    assert [server for server in servers if server.exists()]
    if how == "killed":
        os.kill(working.pid, signal.SIGKILL)
    else:
        working.keys("\x18\x03")
    until(lambda: not living(MARK) and not any(server.exists() for server in servers))
