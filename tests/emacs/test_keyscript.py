import os
from collections import Counter
from pathlib import Path

import pytest

from tests.emacs import keyscript
from tests.emacs.editor import Emacs
from tests.emacs.keyscript import BLOCKS, KINDS, play
from tests.nvim.keyscript import Agent, block, without_agent
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.emacs

PAUSE = 0.02
SEEDS = [int(seed) for seed in os.environ.get("SMITH_KEY_SEEDS", "1").split(",")]


def whole_text() -> str:
    return "\n".join(["gap top", *(line for number in range(BLOCKS) for line in block(number))]) + "\n"


def lines(emacs: Emacs) -> list[str]:
    return emacs.text().split("\n")


def alone(emacs: Emacs, project: Path, seed: int) -> list[str]:
    path = project / "alone.txt"
    path.write_text(whole_text())
    emacs.edit(path)
    play(emacs, seed, 0)
    return lines(emacs)


def together(emacs: Emacs, server: TestServer, project: Path, seed: int) -> tuple[list[str], Counter[str]]:
    path = project / "together.txt"
    path.write_text(whole_text())
    emacs.edit(path)
    emacs.start()
    until(emacs.is_ready)
    agent = Agent(server, path, seed)
    try:
        play(emacs, seed, PAUSE)
    finally:
        agent.stop()
    return without_agent(lines(emacs)), agent.outcomes


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_typed_does_not_depend_on_the_agents_edits(
    emacs: Emacs, server: TestServer, project: Path, seed: int
) -> None:
    expected = alone(emacs, project, seed)
    found, outcomes = together(emacs, server, project, seed)
    assert found == expected
    assert outcomes["applied"] > 20
    assert outcomes["deferred"] > 5
    assert len(KINDS) >= 24
    assert len(keyscript.script(seed)) == BLOCKS


def test_without_the_question_whether_the_editor_is_ready_the_same_keys_do_harm(
    emacs: Emacs, server: TestServer, project: Path
) -> None:
    expected = alone(emacs, project, SEEDS[0])
    emacs.lisp("(ignore (fset 'smith-ready-obstacle #'ignore))")
    try:
        found, _ = together(emacs, server, project, SEEDS[0])
    except AssertionError:
        found = ["the keys led where nobody meant to go"]
    assert found != expected
