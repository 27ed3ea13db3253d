"""What the other commands pay for the session at a terminal: nothing."""

import json
import subprocess
import sys

import pytest

from tests.e2e.command import smith
from tests.e2e.world import World

DRAWING = {"prompt_toolkit", "rich", "pygments", "markdown_it", "wcwidth"}


def loaded_after(code: str) -> set[str]:
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize("module", ["run", "serve", "chat"])
def test_a_command_that_draws_nothing_imports_no_toolkit(module: str) -> None:
    assert loaded_after(f"import smith_server.cli.{module}") & DRAWING == set()


async def test_a_run_imports_no_toolkit(world: World) -> None:
    world.script([{"text": "Hello."}])
    world.environ["PYTHONPROFILEIMPORTTIME"] = "1"
    done = await smith(world, "run", "hi")
    assert done.out == "Hello.\n"
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.err.splitlines()}
    assert "smith_server" in imported
    assert imported & DRAWING == set()


def test_the_session_imports_no_language_server() -> None:
    assert loaded_after("import smith_server.tui.app") & {"pygls", "lsprotocol", "httpx", "pygments"} == set()
