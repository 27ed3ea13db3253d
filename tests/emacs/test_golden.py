"""The event logs that all front-ends share give the text beside them, loaded into a real chat.

Event by event they are read in batch, by the tests that are written in Lisp.
"""

import json
from pathlib import Path

import pytest

from tests.emacs.chat import Chat
from tests.emacs.editor import Emacs
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.emacs

TURNS = sorted((Path(__file__).resolve().parents[1] / "golden" / "turns").glob("*.jsonl"))
WIDTH = "(with-current-buffer (smith-chat-get (cdar smith-session--all)) smith-block-width)"


def test_a_recorded_turn_gives_the_text_beside_it_in_a_real_chat(
    emacs: Emacs, server: TestServer, project: Path
) -> None:
    logs = {log.stem: [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] for log in TURNS}
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    server.answers["smith.conversations"] = lambda argument: {
        "conversation": argument.get("conversation", "none"),
        "events": [{**event, "conversation": None} for event in logs.get(argument.get("conversation", ""), [])],
    }
    # A chat of 81 columns draws 80.
    emacs.lisp("(setq smith-display-action '((display-buffer-in-direction) (direction . above)))")
    emacs.lisp("(ignore (set-frame-width nil 82))")
    emacs.edit(project / "a.txt")
    emacs.keys("\x1bxsmith\r")
    until(emacs.is_ready)
    chat = Chat(emacs)
    until(chat.is_here)
    assert emacs.lisp(WIDTH) == 80
    for log in TURNS:
        emacs.lisp(f'(ignore (smith-session-go-to (cdar smith-session--all) "{log.stem}" #\'ignore))')
        assert chat.shows(*log.with_suffix(".txt").read_text(encoding="utf-8").splitlines()), log.name
