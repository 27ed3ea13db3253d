import json
from pathlib import Path

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

TURNS = sorted((Path(__file__).resolve().parents[1] / "golden" / "turns").glob("*.jsonl"))


def test_there_are_recorded_turns() -> None:
    assert len(TURNS) >= 10


@pytest.mark.parametrize("log", TURNS, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", ["one-by-one", "at-once"])
def test_a_recorded_turn_gives_the_text_beside_it_in_a_real_chat(
    editor: TestEditor, server: TestServer, project: Path, log: Path, mode: str
) -> None:
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    if mode == "at-once":
        server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
        stored = {"conversation": "c1", "events": events}
        server.answers["smith.conversations"] = lambda argument: stored
    # A chat of 81 columns draws 80.
    editor.lua("require('smith.config').values.size = 81")
    editor.edit(project / "a.txt")
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    if mode == "one-by-one":
        for event in events:
            server.notify("smith/event", event)
            server.request("smith/readBuffer", {"uri": "file:///none"})
    expected = [*log.with_suffix(".txt").read_text(encoding="utf-8").splitlines(), ""]
    assert editor.holds(editor.chat(), expected)
