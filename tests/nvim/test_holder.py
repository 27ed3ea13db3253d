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
    until(lambda: any("open elsewhere (terminal)" in line for line in editor.lines(editor.chat())))
    return editor.chat()


def test_what_is_added_elsewhere_is_shown_once_and_the_banner_goes_with_the_holder(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
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
    until(lambda: editor.lines(chat) == ["❯ apples", "", "About apples.", ""])


def test_a_deleted_one_makes_room_for_another(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys(":Smith delete<CR>")
    until(lambda: {"op": "delete", "conversation": "A"} in server.commands("smith.conversations"))
    until(lambda: editor.lines(chat) == [""])


def test_a_prompt_goes_to_the_conversation_that_is_shown_and_to_no_deleted_one(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    editor.keys("ione<C-s>")
    server.event("conversation_changed", conversation="A", change="deleted", seq=41)
    until(lambda: "! This conversation was deleted." in editor.lines(chat))
    editor.keys("two<C-s>")
    sent = until(lambda: len(server.commands("smith.turn")) == 2 and server.commands("smith.turn"))
    assert [(call["text"], call.get("conversation")) for call in sent] == [("one", "A"), ("two", None)]


def test_what_is_told_once_while_a_conversation_is_loaded_is_shown_behind_it(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    load = server.answers.pop("smith.conversations")
    count = len(server.commands("smith.conversations"))
    server.event("conversation_changed", conversation="A", change="rewritten", seq=41)
    until(lambda: len(server.commands("smith.conversations")) > count)
    server.event("notice", conversation="A", level="info", text="Said while it loads.", seq=42)
    server.event("llm_output_delta", conversation="A", turn="t9", message="m9", text="Part of it.", seq=43)
    server.event("notice", conversation="A", level="info", text="Said after it.", seq=44)
    server.respond("smith.conversations", {**load({"op": "load"}), "seq": 43}, -1)
    until(lambda: "i Said after it." in editor.lines(chat))
    lines = editor.lines(chat)
    assert "Part of it." not in lines
    assert lines[: lines.index("i Said while it loads.")] == ["❯ apples", "", "About apples.", ""]


def test_quit_closes_the_chat(editor: TestEditor, server: TestServer, chat: int) -> None:
    server.answers["smith.slash"] = lambda argument: {"ok": True, "text": "", "data": {"quit": True}}
    editor.keys("i/quit<C-s>")
    until(lambda: editor.lua("return vim.fn.bufwinid(...)", chat) == -1)
    assert server.commands("smith.slash") == [{"line": "/quit", "conversation": "A"}]


def test_words_for_the_running_turn_go_to_the_conversation_that_is_shown(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    editor.keys(":Smith steer look at b.txt<CR>")
    assert until(lambda: server.commands("smith.steer")) == [{"text": "look at b.txt", "conversation": "A"}]
