from pathlib import Path

import pytest

from smith_server.tui.blocks.draw import transcript
from smith_server.tui.state import folded
from tests.tui.logs import TURNS, recorded


def test_there_are_recorded_turns() -> None:
    assert len(TURNS) >= 10


@pytest.mark.parametrize("log", TURNS, ids=lambda path: path.stem)
def test_a_recorded_turn_gives_the_text_beside_it(log: Path) -> None:
    expected = log.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    assert transcript(folded(recorded(log)).blocks, 80) == expected
