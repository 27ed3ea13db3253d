"""A conversation that another process writes: shown read-only, followed, taken over, forked, deleted."""

from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until
from tests.nvim.test_switch import stored

pytestmark = pytest.mark.nvim

BAR = "return vim.wo[vim.fn.bufwinid(...)].winbar"


@pytest.fixture
def chat(editor: TestEditor, server: TestServer, project: Path) -> int:
    """A chat of conversation A, which another process writes until it is taken over."""
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    state: dict[str, Any] = {"held": True, "current": "A"}

    def conversations(argument: dict[str, Any]) -> dict[str, Any]:
        match argument["op"]:
            case "take_over":
                state["held"] = False
            case "fork" | "delete":
                state.update(held=False, current="B" if argument["op"] == "fork" else "C")
        events = [] if state["current"] == "C" else stored("apples")
        answer: dict[str, Any] = {"conversation": state["current"], "events": events, "seq": 40}
        return {**answer, "holder": {"face": "terminal", "host": "here", "pid": 7}} if state["held"] else answer

    server.answers |= {"smith.conversations": conversations}
    editor.edit(project / "a.txt")
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    until(lambda: "read-only" in editor.lua(BAR, editor.chat()))
    return editor.chat()


def test_what_is_added_elsewhere_is_shown_once_and_the_banner_goes_with_the_holder(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    until(lambda: any("open elsewhere (terminal)" in line for line in editor.lines(chat)))
    for seq, text in ((40, "An old one."), (41, "A new one.")):
        server.event("llm_output_delta", conversation="A", turn="t1", message=f"m{seq}", text=text, seq=seq)
    until(lambda: "A new one." in editor.lines(chat))
    assert "An old one." not in editor.lines(chat)
    server.event("conversation_changed", conversation="A", change="released", seq=42)
    until(lambda: "read-only" not in editor.lua(BAR, chat))


@pytest.mark.parametrize(("command", "op"), [("take-over", "take_over"), ("fork", "fork")])
def test_it_is_gone_on_with(editor: TestEditor, server: TestServer, chat: int, command: str, op: str) -> None:
    editor.keys(f":Smith {command}<CR>")
    until(lambda: "read-only" not in editor.lua(BAR, chat))
    assert server.commands("smith.conversations")[1] == {"op": op, "conversation": "A"}
    until(lambda: editor.lines(chat)[:3] == ["❯ apples", "", "About apples."])


def test_a_deleted_one_makes_room_for_another(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys(":Smith delete<CR>")
    until(lambda: {"op": "delete", "conversation": "A"} in server.commands("smith.conversations"))
    until(lambda: editor.lines(chat) == [""])
