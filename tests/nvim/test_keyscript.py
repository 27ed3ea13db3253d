import os
from collections import Counter
from pathlib import Path

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.keyscript import BLOCKS, KINDS, Agent, play, whole_text, without_agent
from tests.nvim.server import TestServer

pytestmark = pytest.mark.nvim

PAUSE = 0.008
SEEDS = [int(seed) for seed in os.environ.get("SMITH_KEY_SEEDS", "1").split(",")]


def expected(editor: TestEditor, project: Path, seed: int) -> list[str]:
    path = project / "alone.txt"
    path.write_text("\n".join(whole_text()) + "\n")
    editor.edit(path)
    play(editor, seed, 0)
    return editor.lines()


def played(
    editor: TestEditor, server: TestServer, project: Path, seed: int, harmed: bool = False
) -> tuple[list[str], Counter[str]]:
    path = project / "together.txt"
    path.write_text("\n".join(whole_text()) + "\n")
    editor.nvim.command("set hidden")
    editor.edit(path)
    editor.start()
    agent = Agent(server, path, seed)
    play(editor, seed, PAUSE, harmed)
    agent.stop()
    return without_agent(editor.lines()), agent.outcomes


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_typed_does_not_depend_on_the_agents_edits(
    editor: TestEditor, server: TestServer, project: Path, seed: int
) -> None:
    alone = expected(editor, project, seed)
    together, outcomes = played(editor, server, project, seed)
    assert together == alone
    assert outcomes["applied"] > 20
    assert outcomes["deferred"] > 20
    assert len(KINDS) >= 30
    assert len(alone) != 5 * BLOCKS + 1


def test_without_the_question_whether_the_editor_is_ready_the_same_keys_do_harm(
    editor: TestEditor, server: TestServer, project: Path
) -> None:
    alone = expected(editor, project, SEEDS[0])
    editor.lua("require('smith.ready').check = function() return true end")
    together, _ = played(editor, server, project, SEEDS[0], harmed=True)
    assert together != alone
