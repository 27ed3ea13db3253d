"""Which conversation a chat shows, and from where, when a command goes to another one."""

from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim


def stored(*prompts: str) -> list[dict[str, Any]]:
    """One stored turn for each prompt."""
    events: list[dict[str, Any]] = []
    for number, text in enumerate(prompts):
        turn, message = f"t{number}", f"m{number}"
        events += [
            {"kind": "turn_started", "turn": turn, "text": text},
            {"kind": "llm_output_delta", "turn": turn, "message": message, "text": f"About {text}."},
            {"kind": "turn_completed", "turn": turn, "stop_reason": "completed"},
        ]
    return events


CONVERSATIONS = {"A": stored("apples"), "B": stored(*(f"berry {number}" for number in range(40)))}


@pytest.fixture
def chat(editor: TestEditor, server: TestServer, project: Path) -> int:
    """A chat of conversation B, where A is stored too."""
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    current = ["B"]

    def load(argument: dict[str, Any]) -> dict[str, Any]:
        current[:] = [argument.get("conversation") or current[0]]
        return {"conversation": current[0], "events": CONVERSATIONS[current[0]]}

    def slash(argument: dict[str, Any]) -> dict[str, Any]:
        current[:] = [argument["line"].split()[-1]]
        return {"ok": True, "text": f"Conversation {current[0]}.", "data": {"conversation": current[0]}}

    server.answers |= {"smith.conversations": load, "smith.slash": slash}
    editor.edit(project / "a.txt")
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    until(lambda: "About berry 39." in editor.lines(editor.chat()))
    return editor.chat()


def go_to(editor: TestEditor, chat: int, name: str, last: str) -> list[str]:
    """What the chat shows after `/load`, from the last stored line on."""
    editor.keys(f"i/load {name}<C-s><Esc>")
    until(lambda: f"i Conversation {name}." in editor.lines(chat) and last in editor.lines(chat))
    lines = editor.lines(chat)
    return lines[lines.index(last) :]


def test_a_conversation_that_was_seen_before_is_shown_when_a_command_goes_back_to_it(
    editor: TestEditor, chat: int
) -> None:
    for _ in range(2):
        answered = ["", "❯ /load A", "", "i Conversation A.", ""]
        assert go_to(editor, chat, "A", "About apples.") == ["About apples.", *answered]
        assert editor.lines(chat)[0] == "❯ apples"
        answered = ["", "❯ /load B", "", "i Conversation B.", ""]
        assert go_to(editor, chat, "B", "About berry 39.") == ["About berry 39.", *answered]
        assert editor.lines(chat)[0] == "❯ berry 0"


def test_events_of_the_new_conversation_that_come_before_the_answer_load_it_once_more_and_nothing_is_lost(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    answer = server.answers.pop("smith.slash")
    editor.keys("i/load A<C-s><Esc>")
    until(lambda: server.commands("smith.slash"))
    server.event("session_started", conversation="A", root="/", resumed=True, title="")
    until(lambda: "About apples." in editor.lines(chat))
    server.respond("smith.slash", answer({"line": "/load A"}))
    expected = ["❯ apples", "", "About apples.", "", "❯ /load A", "", "i Conversation A.", ""]
    until(lambda: editor.lines(chat) == expected)


def test_a_shorter_conversation_is_shown_whole(editor: TestEditor, chat: int) -> None:
    until(lambda: editor.lua("return vim.fn.line('w0', vim.fn.bufwinid(...))", chat) > 50)
    go_to(editor, chat, "A", "About apples.")
    seen = "local win = vim.fn.bufwinid(...) return { vim.fn.line('w0', win), vim.fn.line('.', win) }"
    until(lambda: editor.lua(seen, chat) == [1, 8])


def test_a_longer_conversation_is_shown_from_its_end(editor: TestEditor, chat: int) -> None:
    go_to(editor, chat, "A", "About apples.")
    go_to(editor, chat, "B", "About berry 39.")
    last = len(editor.lines(chat))
    seen = "local win = vim.fn.bufwinid(...) return { vim.fn.line('w$', win), vim.fn.line('.', win) }"
    until(lambda: editor.lua(seen, chat) == [last, last])
    assert editor.lua("return vim.fn.line('w0', vim.fn.bufwinid(...))", chat) > last - 40
