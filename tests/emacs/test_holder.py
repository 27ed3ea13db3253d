"""A conversation that another process writes: shown read-only, followed, taken over, forked, deleted."""

from pathlib import Path
from typing import Any

import pytest

from tests.emacs.chat import Chat
from tests.emacs.editor import Emacs
from tests.nvim.server import TestServer, until
from tests.nvim.told import stored

pytestmark = pytest.mark.emacs

RET, META_X = "\r", "\x1bx"
ELSEWHERE = (
    "! This conversation is open elsewhere (terminal) and is shown read-only; "
    "M-x smith-take-over and M-x smith-fork go on with it."
)
STORED = ["❯ apples", "", "About apples."]


@pytest.fixture
def chat(emacs: Emacs, server: TestServer, project: Path) -> Chat:
    """A chat of conversation A, which another process writes until it is taken over."""
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    state: dict[str, Any] = {"held": True, "current": "A"}

    def conversations(argument: dict[str, Any]) -> dict[str, Any]:
        match argument["op"]:
            case "take_over":
                state["held"] = False
            case "fork" | "delete":
                state.update(held=False, current="B" if argument["op"] == "fork" else "C")
        events = [] if state["current"] == "C" else stored("apples", "About apples.")
        answer: dict[str, Any] = {"conversation": state["current"], "events": events, "seq": 40}
        return {**answer, "holder": {"face": "terminal", "host": "here", "pid": 7}} if state["held"] else answer

    server.answers |= {"smith.conversations": conversations}
    (project / "a.txt").write_text("one\n")
    emacs.edit(project / "a.txt")
    emacs.keys(META_X + "smith" + RET)
    until(emacs.is_ready)
    made = Chat(emacs)
    until(made.is_here)
    made.shows(*STORED, "", ELSEWHERE)
    assert is_read_only(made)
    return made


def is_read_only(chat: Chat) -> bool:
    return "read-only" in chat.lisp("(smith-chat--status)")


def test_what_is_added_elsewhere_is_shown_once_and_the_banner_goes_with_the_holder(
    server: TestServer, chat: Chat
) -> None:
    server.event("turn_started", conversation="B", turn="t9", text="not this one", seq=39)
    for seq, text in ((40, "An old one."), (41, "A new one.")):
        server.event("llm_output_delta", conversation="A", turn="t1", message=f"m{seq}", text=text, seq=seq)
    server.event("conversation_changed", conversation="A", change="released", seq=42)
    released = "i Nobody else has this conversation open any more."
    assert chat.shows(*STORED, "", ELSEWHERE, "", "A new one.", "", released)
    assert not is_read_only(chat)


def test_a_turn_of_a_conversation_that_is_only_looked_at_does_not_come_to_the_front(
    server: TestServer, chat: Chat
) -> None:
    holder = {"face": "editor"}
    server.event("session_started", conversation="D", turn="", root="/", title="", holder=holder, seq=41)
    server.event("session_started", conversation="A", turn="", root="/", title="", seq=42)
    server.event("turn_started", conversation="D", turn="t1", text="elsewhere", seq=43)
    server.event("notice", conversation="A", turn="", level="info", text="Here.", seq=44)
    assert chat.holds("i Here.")
    assert "elsewhere" not in chat.said().replace("open elsewhere", "")


@pytest.mark.parametrize(("command", "op"), [("take-over", "take_over"), ("fork", "fork")])
def test_it_is_gone_on_with(emacs: Emacs, server: TestServer, chat: Chat, command: str, op: str) -> None:
    emacs.keys(f"{META_X}smith-{command}{RET}")
    assert chat.shows(*STORED)
    assert not is_read_only(chat)
    assert server.commands("smith.conversations")[1] == {"op": op, "conversation": "A"}


def test_a_deleted_one_makes_room_for_another(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys(f"{META_X}smith-delete{RET}yes{RET}")
    assert chat.shows()
    assert server.commands("smith.conversations")[1] == {"op": "delete", "conversation": "A"}


def test_a_prompt_goes_to_the_conversation_that_is_shown_and_to_no_deleted_one(
    emacs: Emacs, server: TestServer, chat: Chat
) -> None:
    emacs.keys("one" + RET)
    until(lambda: server.commands("smith.turn"))
    server.event("conversation_changed", conversation="A", change="deleted", seq=41)
    chat.holds("! This conversation was deleted.")
    emacs.keys("two" + RET)
    sent = until(lambda: len(server.commands("smith.turn")) == 2 and server.commands("smith.turn"))
    assert [(call["text"], call.get("conversation")) for call in sent] == [("one", "A"), ("two", None)]


def test_what_is_told_once_while_a_conversation_is_loaded_is_shown_behind_it(server: TestServer, chat: Chat) -> None:
    load = server.answers.pop("smith.conversations")
    count = len(server.commands("smith.conversations"))
    server.event("conversation_changed", conversation="A", change="rewritten", seq=41)
    until(lambda: len(server.commands("smith.conversations")) > count)
    server.event("notice", conversation="A", level="info", text="Said while it loads.", seq=42)
    server.event("llm_output_delta", conversation="A", turn="t9", message="m9", text="Part of it.", seq=43)
    server.event("notice", conversation="A", level="info", text="Said after it.", seq=44)
    server.respond("smith.conversations", {**load({"op": "take_over"}), "seq": 43}, -1)
    assert chat.shows(*STORED, "", "i Said while it loads.", "", "i Said after it.")


def test_quit_closes_the_chat(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    server.answers["smith.slash"] = lambda argument: {"ok": True, "text": "", "data": {"quit": True}}
    emacs.keys("/quit" + RET)
    until(lambda: not chat.is_here())
    assert chat.lisp("(null (get-buffer-window nil t))")
    assert server.commands("smith.slash") == [{"line": "/quit", "conversation": "A"}]


def test_prompts_that_wait_are_changed_taken_and_begun(server: TestServer, chat: Chat) -> None:
    server.skip(40)
    waiting = '(string-join (mapcar #\'cdr (smith-talk-queue smith-chat--talk)) "|")'
    for name in ("one", "two", "three"):
        server.event("prompt_queued", conversation="A", id=name, text=name)
    until(lambda: chat.lisp(waiting) == "one|two|three")
    server.event("prompt_edited", conversation="A", id="two", text="2")
    server.event("prompt_taken", conversation="A", id="one")
    server.event("turn_started", conversation="A", turn="t2", text="three", queued="three")
    until(lambda: chat.lisp(waiting) == "2")


def test_words_for_the_running_turn_go_to_the_conversation_that_is_shown(
    emacs: Emacs, server: TestServer, chat: Chat
) -> None:
    emacs.keys(f"{META_X}smith-steer{RET}look at b.txt{RET}")
    assert until(lambda: server.commands("smith.steer")) == [{"text": "look at b.txt", "conversation": "A"}]
