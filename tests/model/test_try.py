"""`tools/try` from nothing at all to an answer of the small model."""

import asyncio
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.e2e.command import smith
from tests.e2e.processes import gone
from tests.e2e.world import World
from tests.model.checkout import fresh_checkout, stand_ins
from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.model, pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(600)]
SECONDS = 300.0


def test_who_has_no_model_says_yes_and_is_answered(tmp_path: Path) -> None:
    world = World(tmp_path)
    checkout = fresh_checkout(tmp_path / "checkout")
    # What smith needs is at hand, the model is not, and nothing can be asked of the network.
    libraries = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false"}
    offline["PIP_FIND_LINKS"] = str(stand_ins(tmp_path / "wheels"))
    variables = {**offline, "PYTHON": sys.executable, "PYTHONPATH": ":".join(libraries), "OLLAMA_HOST": "127.0.0.1:1"}
    program = (str(checkout / "tools" / "try"), "terminal")
    with Terminal(world, program=program, columns=120, **variables) as terminal:
        written(terminal, "[y/N]")
        assert "No model to talk to was found" in terminal.text
        assert "https://ai.google.dev/gemma/terms" in terminal.text
        assert "https://ai.google.dev/gemma/prohibited_use_policy" in terminal.text
        assert not list((checkout / ".venv").rglob("xllamacpp*"))
        terminal.types("yes\r")
        written(terminal, "installed, ")
        assert b"Looking in links" not in terminal.raw
        written(terminal, "Enter sends")
        terminal.ready()
        terminal.sends("hello")
        written(terminal, "of local: nothing else is set up, and a small model can run here")
        terminal.until("the end of the turn", lambda: not terminal.is_busy(), SECONDS)
        terminal.presses("ctrl-d")
        assert terminal.code() == 0
    asyncio.run(gone(str(tmp_path)))
    listed = asyncio.run(smith(world, "run", "/history"))
    assert "2 messages  hello" in listed.out


def written(terminal: Terminal, words: str) -> None:
    """Wait for these words in what was written; to look at the screen all the time would take a processor."""
    terminal.until(words, lambda: words.encode() in terminal.raw, SECONDS)
