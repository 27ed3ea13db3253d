from pathlib import Path
from typing import Any

import pytest

from tests.emacs.chat import Chat, settled
from tests.emacs.editor import Emacs, quoted
from tests.nvim.server import TestServer, until
from tests.nvim.told import QUESTION, ask, say, stored, turn

pytestmark = pytest.mark.emacs

C_C, C_X, ESC, RET, C_J, TAB = "\x03", "\x18", "\x1b", "\r", "\n", "\t"
OTHER = C_X + "o"
CANCEL = C_C + "\x0b"


@pytest.fixture
def path(project: Path) -> Path:
    file = project / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    return file


@pytest.fixture
def chat(emacs: Emacs, server: TestServer, path: Path) -> Chat:
    """A file, and a chat beside it with point in its prompt."""
    return opened(emacs, path)


def opened(emacs: Emacs, path: Path) -> Chat:
    emacs.edit(path)
    emacs.keys(ESC + "xsmith" + RET)
    until(emacs.is_ready)
    made = Chat(emacs)
    until(made.is_here)
    return made


def test_a_prompt_is_sent_with_the_file_beside_the_chat_and_its_answer_is_shown(
    emacs: Emacs, server: TestServer, chat: Chat, path: Path
) -> None:
    emacs.keys("hello" + C_J + "there" + RET)
    [argument] = until(lambda: server.commands("smith.turn"))
    assert argument == {"text": "hello\nthere", "context": {"uri": path.as_uri(), "cwd": str(path.parent)}}
    turn(server, "hello\nthere")
    say(server, "Hi, what can I")
    say(server, " do?\n\nTell me.\n")
    server.event("turn_completed", stop_reason="completed", usage={})
    assert chat.shows("❯ hello", "  there", "", "Hi, what can I do?", "", "Tell me.")


def test_an_empty_prompt_is_not_sent(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys("  " + RET + "hello" + RET)
    assert [call["text"] for call in until(lambda: server.commands("smith.turn"))] == ["hello"]


def test_what_was_typed_just_before_a_prompt_reaches_the_server_first(
    emacs: Emacs, server: TestServer, chat: Chat, path: Path
) -> None:
    emacs.keys(OTHER + "x" + ESC + "xsmith-send" + RET + "look" + RET)
    until(lambda: server.commands("smith.turn"))
    methods = [message["method"] for message in server.received]
    assert "textDocument/didChange" in methods[: methods.index("workspace/executeCommand")]
    assert server.document(path).text == "xone\ntwo\nthree\n"


def test_a_region_is_sent_as_a_selection(emacs: Emacs, server: TestServer, chat: Chat, path: Path) -> None:
    path.write_text("é one two\n")
    emacs.keys(OTHER)
    emacs.lisp("(ignore (revert-buffer t t) (goto-char 3))")
    emacs.keys("\x00" + ESC + "f" + ESC + "xsmith-send" + RET + "explain" + RET)
    [argument] = until(lambda: server.commands("smith.turn"))
    assert argument == {
        "text": "explain",
        "context": {
            "uri": path.as_uri(),
            "cwd": str(path.parent),
            "selection": "one",
            "range": {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 5}},
        },
    }
    assert not chat.is_here()


def test_a_region_waits_in_the_chat_for_its_prompt(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys(OTHER + "\x00\x0e" + ESC + "xsmith-attach" + RET)
    until(chat.is_here)
    assert "with a.txt:1-1" in chat.lisp("(buffer-string)")
    emacs.keys("what is this?" + RET)
    [argument] = until(lambda: server.commands("smith.turn"))
    assert argument["context"]["selection"] == "one\n"
    assert "with a.txt:1-1" not in chat.lisp("(buffer-string)")


def test_text_that_cannot_be_sent_is_sent_without_what_is_wrong(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    chat.lisp("(ignore (goto-char (point-max)) (insert (string ?a #x3fffe0 #xd83d ?b)))")
    emacs.keys(RET)
    assert until(lambda: server.commands("smith.turn"))[0]["text"] == "a\ufffd\ufffdb"


def test_answers_that_no_json_of_emacs_can_hold_are_shown(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    say(server, "half \ud83d, other half \ude00, NUL \x00, whole \N{GRINNING FACE}, text \\ud83d.")
    assert chat.shows("❯ go", "", "half \ufffd, other half \ufffd, NUL \u2400, whole 😀, text \\ud83d.")


def test_calls_are_folded_to_one_line_each(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    server.event("llm_reasoning_delta", message="m1", text="first\nthen")
    server.event("tool_call_started", call_id="a", name="read", arguments='{"path": "a.txt"}', title="")
    content = "1 one\n2 two"
    server.event("tool_call_finished", call_id="a", name="read", ok=True, summary="2 lines", content=content)
    say(server, "Done.", "m2")
    thought = ["· thought, 2 lines", "    first", "    then"]
    call = ["✓ read a.txt — 2 lines", "    1 one", "    2 two"]
    assert chat.shows("❯ go", "", *thought, *call, "", "Done.")
    seen = """
        (let ((seen nil))
          (goto-char (point-min))
          (while (< (point) smith-block-end)
            (unless (invisible-p (point))
              (push (buffer-substring-no-properties (point) (line-end-position)) seen))
            (forward-line))
          (goto-char (point-max))
          (vconcat (nreverse seen)))
    """
    assert chat.lisp(seen) == ["❯ go", "", thought[0], call[0], "", "Done."]
    chat.lisp('(ignore (goto-char (point-min)) (search-forward "read"))')
    emacs.lisp("(ignore (set-window-point nil (with-current-buffer (window-buffer) (point))))")
    emacs.keys(TAB)
    until(lambda: chat.lisp(f"(save-excursion {seen})") == ["❯ go", "", thought[0], *call, "", "Done."])


def test_typing_goes_on_while_an_answer_comes(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    words = [f"word{number}" for number in range(60)]
    for number, word in enumerate(words):
        say(server, f"line {number}\n" if number % 3 else f"part {number} ")
        if number % 10 == 5:
            server.event("tool_call_started", call_id=str(number), name="bash", arguments="{}", title="x")
            server.event("tool_call_finished", call_id=str(number), name="bash", ok=True, summary="", content="o\np")
        emacs.keys(word + (" " if number % 7 else C_J))
    assert chat.types("".join(word + (" " if number % 7 else "\n") for number, word in enumerate(words)))
    chat.holds(f"line {len(words) - 1}")
    assert chat.said().count("❯ go") == 1


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ("\x00<Tick>\x10\x10<Tick>\x17", "three"),
        ("\x12tw<Tick>\x07<Tick>X", "one\ntwo\nXthree"),
        (C_X + " <Tick>\x10\x06<Tick>" + C_X + "rk", "one\nwo\nhree"),
        ("\x10\x10" + ESC + "%two" + RET + "2" + RET + "<Tick>y", "one\n2\nthree"),
        ("\x154<Tick>y", "one\ntwo\nyyyythree"),
    ],
    ids=["region", "search that is given up", "rectangle", "query-replace", "prefix argument"],
)
def test_a_command_half_typed_in_the_prompt_does_what_was_meant(
    emacs: Emacs, server: TestServer, chat: Chat, keys: str, left: str
) -> None:
    turn(server, "go")
    say(server, "begin\n")
    emacs.keys("one" + C_J + "two" + C_J + "three\x01")
    chat.types("one\ntwo\nthree")
    for part in keys.split("<Tick>"):
        emacs.keys(part)
        say(server, "a line\nanother\n")
        settled(server)
    assert chat.types(left)
    assert chat.shows("❯ go", "", "begin", *["a line", "another"] * len(keys.split("<Tick>")))


def test_the_answer_above_the_prompt_cannot_be_edited(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    say(server, "answer\nmore")
    emacs.keys("draft")
    whole = ["❯ go", "", "answer", "more"]
    assert chat.shows(*whole)
    for keys in (ESC + ">\x01\x7f", ESC + "<\x0b", C_X + "h\x17", ESC + "<\x04"):
        emacs.lisp("(message nil)")
        emacs.keys(keys)
        until(lambda: "read-only" in (emacs.lisp("(current-message)") or ""), keys)
    emacs.keys(ESC + "<new " + ESC + ">.")
    assert chat.types("draftnew .")
    assert chat.shows(*whole)
    say(server, " words")
    assert chat.shows(*whole[:3], "more words")


def test_what_is_copied_from_an_answer_can_be_changed_in_the_prompt(
    emacs: Emacs, server: TestServer, chat: Chat
) -> None:
    turn(server, "go")
    say(server, "**answer**")
    chat.holds("answer")
    emacs.keys(ESC + "<\x0e\x0e\x00\x05" + ESC + "w" + ESC + ">\x19\x7f\x7f!")
    assert chat.types("**answer!")
    assert chat.lisp("(text-properties-at smith-input-start)") is None


def test_undo_in_the_prompt_never_reaches_the_answer(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    say(server, "answer")
    chat.holds("answer")
    emacs.keys("one")
    chat.types("one")
    emacs.keys("\x02\x0b two")
    chat.types("on two")
    say(server, " goes on\nfor a while")
    chat.holds("for a while")
    emacs.keys("\x1f")
    chat.types("on")
    emacs.keys("\x1f\x1f\x1f\x1f")
    chat.types("")
    assert chat.shows("❯ go", "", "answer goes on", "for a while")


def test_prompts_sent_before_come_back(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys("first" + RET + "second" + C_J + "line" + RET)
    until(lambda: len(server.commands("smith.turn")) == 2)
    emacs.keys("draft" + ESC + "p")
    assert chat.types("second\nline")
    emacs.keys("\x1bOA\x1bOA")
    assert chat.types("first")
    emacs.keys("\x1bOB" + ESC + "n")
    assert chat.types("draft")


def test_a_slash_line_is_a_command_and_two_slashes_are_a_prompt(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    server.answers["smith.slash"] = lambda argument: {"ok": True, "text": "12 tokens\n3 requests"}
    emacs.keys("/usage" + RET)
    assert until(lambda: server.commands("smith.slash")) == [{"line": "/usage"}]
    assert chat.shows("❯ /usage", "", "i 12 tokens", "  3 requests")
    assert server.commands("smith.turn") == []
    emacs.keys("//etc" + RET)
    assert until(lambda: server.commands("smith.turn"))[0]["text"] == "/etc"


def test_a_page_opens_in_a_window_of_its_own(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    page = {"type": "pager", "title": "Prompt", "format": "markdown", "content": "# Title\n\ntext"}
    server.answers["smith.slash"] = lambda argument: {"ok": True, "ui": page}
    emacs.keys("/prompt" + RET)
    until(lambda: emacs.lisp("(buffer-string)") == "# Title\n\ntext")
    emacs.keys("q")
    assert until(chat.is_here)


def test_a_failed_command_says_why(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    error = {"kind": "schema", "code": "unknown_command", "message": "There is no /nope."}
    server.answers["smith.slash"] = lambda argument: {"ok": False, "error": error}
    emacs.keys("/nope" + RET)
    assert chat.shows("❯ /nope", "", "✗ There is no /nope.")


@pytest.mark.parametrize(("key", "decision"), [("y", "yes"), ("n", "no"), ("a", "always")])
def test_a_question_is_answered_by_a_key_on_it(
    emacs: Emacs, server: TestServer, chat: Chat, key: str, decision: str
) -> None:
    turn(server, "go")
    ask(server)
    assert chat.shows("❯ go", "", "… bash make 1", *QUESTION)
    emacs.keys(C_C + "\x11" + key)
    assert until(lambda: server.commands("smith.answer")) == [{"id": "q1", "decision": decision}]
    server.event("approval_answered", id="q1", decision=decision)
    word = {"yes": "allowed", "no": "refused", "always": "always allowed"}[decision]
    assert chat.shows("❯ go", "", "… bash make 1", f"  {word}: bash make 1")
    assert chat.typed() == ""


def test_a_question_takes_no_key_from_a_person_who_is_elsewhere(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    emacs.keys("yes, no and also")
    ask(server)
    chat.holds(QUESTION[0])
    emacs.keys(" nay")
    chat.types("yes, no and also nay")
    emacs.keys(OTHER + "yna")
    until(lambda: emacs.text().startswith("yna"))
    assert server.commands("smith.answer") == []


def test_questions_are_answered_by_commands_from_anywhere_oldest_first(
    emacs: Emacs, server: TestServer, chat: Chat
) -> None:
    turn(server, "go")
    ask(server, 1)
    ask(server, 2)
    chat.holds("? May I run bash make 2?")
    emacs.keys(OTHER + ESC + "xsmith-yes" + RET)
    until(lambda: server.commands("smith.answer"))
    server.event("approval_answered", id="q1", decision="yes")
    chat.holds("  allowed: bash make 1")
    emacs.keys("\x15" + ESC + "xsmith-no" + RET + "not this one" + RET)
    assert until(lambda: len(server.commands("smith.answer")) == 2 and server.commands("smith.answer")) == [
        {"id": "q1", "decision": "yes"},
        {"id": "q2", "decision": "no", "feedback": "not this one"},
    ]


def test_a_question_that_nobody_sees_is_told_in_one_line(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys(C_X + "0")
    until(lambda: not chat.is_here())
    turn(server, "go")
    ask(server)
    until(lambda: "may I run bash make 1?" in emacs.lisp('(with-current-buffer "*Messages*" (buffer-string))'))
    assert emacs.lisp("(list (minibuffer-depth) (length (window-list)))") == [0, 1]


@pytest.mark.parametrize(
    "keys", [CANCEL, OTHER + ESC + "xsmith-cancel" + RET], ids=["by its key", "by its command from elsewhere"]
)
def test_a_running_turn_is_cancelled(emacs: Emacs, server: TestServer, chat: Chat, keys: str) -> None:
    turn(server, "go")
    chat.shows("❯ go")
    emacs.keys(keys)
    assert until(lambda: server.commands("smith.cancel")) == [{"conversation": "c1"}]
    server.event("turn_cancelled", usage={})
    assert chat.shows("❯ go", "", "i Cancelled.")


def test_a_turn_that_has_not_begun_is_cancelled_too(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys("hello" + RET)
    until(lambda: server.commands("smith.turn"))
    emacs.keys(CANCEL)
    assert until(lambda: server.commands("smith.cancel")) == [{}]
    server.respond("smith.turn", {"stop_reason": "cancelled"})
    until(lambda: not emacs.lisp("(smith-session-busy-p (smith-session-here))"))


def test_the_cancel_key_works_in_changed_buffers_while_the_turn_runs_and_is_given_back(
    emacs: Emacs, server: TestServer, chat: Chat, path: Path
) -> None:
    emacs.keys(OTHER)
    emacs.lisp("(local-set-key [?\\C-c ?\\C-k] 'mark-whole-buffer)")
    turn(server, "go")
    chat.shows("❯ go")
    document = server.document(path)
    server.apply(server.change(document, [document.edit(0, "one", "1")]))
    until(lambda: emacs.lisp("(symbol-name (key-binding [?\\C-c ?\\C-k]))") == "smith-cancel")
    assert "smith:thinking" in emacs.lisp("(format-mode-line mode-line-format)")
    emacs.keys(CANCEL)
    assert until(lambda: server.commands("smith.cancel")) == [{"conversation": "c1"}]
    server.event("turn_cancelled", usage={})
    assert until(lambda: emacs.lisp("(symbol-name (key-binding [?\\C-c ?\\C-k]))") == "mark-whole-buffer")


def test_what_waits_and_what_the_agent_does_is_shown(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    def line() -> str:
        return " ".join(chat.lisp("(format-mode-line mode-line-format)").split())

    assert line() == "*smith: project* ready"
    turn(server, "go")
    server.event("prompt_queued", id="p2", text="and then this")
    server.event("usage_updated", turn_usage={}, context=12345)
    until(lambda: line() == "*smith: project* thinking · m · 12.3k tokens · 1 waiting")
    assert "waits: and then this" in chat.lisp("(buffer-string)")
    server.event("prompt_dropped", id="p2", text="and then this", reason="cancelled")
    assert chat.types("and then this")


def test_a_chat_that_was_killed_opens_again_as_it_was(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    say(server, "answer")
    chat.holds("answer")
    chat.lisp("(kill-buffer)")
    say(server, " goes on")
    settled(server)
    emacs.keys(ESC + "xsmith" + RET)
    until(chat.is_here)
    assert chat.shows("❯ go", "", "answer goes on")
    say(server, ".")
    assert chat.shows("❯ go", "", "answer goes on.")


def test_an_attempt_whose_output_is_void_is_taken_away(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    turn(server, "go")
    server.event("llm_reasoning_delta", message="m1", text="hm")
    say(server, "half an ans")
    chat.holds("half an ans")
    error = {"kind": "transport", "code": "overloaded", "message": "The model is overloaded."}
    server.event("llm_retry", layer="empty", attempt=2, delay_ms=10, error=error, discard_output=True)
    say(server, "An answer.", "m2")
    assert chat.shows("❯ go", "", "An answer.")


def keeps(server: TestServer, **pages: dict[str, Any]) -> None:
    """Lets the server have stored conversations."""
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    server.answers["smith.conversations"] = lambda argument: pages.get(argument["op"])


NOTE = "i What came before is stored and not shown here."


def test_the_stored_conversation_is_shown_and_its_older_pages_when_they_are_wanted(
    emacs: Emacs, server: TestServer, path: Path
) -> None:
    page = {"conversation": "c1", "events": stored("older", "Old answer."), "before": "m-1"}
    keeps(server, load={"conversation": "c1", "events": stored("before"), "before": "m0"}, page=page)
    chat = opened(emacs, path)
    assert chat.shows(NOTE, "", "❯ before", "", "Stored answer.")
    assert server.commands("smith.conversations") == [{"op": "load"}]
    turn(server, "now")
    recent = ["❯ before", "", "Stored answer.", "", "❯ now"]
    assert chat.shows(NOTE, "", *recent)
    emacs.keys("typed" + C_C + "\x15")
    assert chat.shows(NOTE, "", "❯ older", "", "Old answer.", "", *recent)
    assert server.commands("smith.conversations")[1] == {"op": "page", "conversation": "c1", "before": "m0"}
    server.answers["smith.conversations"] = lambda argument: {"conversation": "c1", "events": stored("first")}
    emacs.keys(ESC + "<" + RET)
    assert chat.shows("❯ first", "", "Stored answer.", "", "❯ older", "", "Old answer.", "", *recent)
    say(server, "goes on")
    assert chat.holds("goes on")
    assert chat.typed() == "typed"


def test_another_conversation_is_loaded_when_the_server_resumes_it(
    emacs: Emacs, server: TestServer, path: Path
) -> None:
    keeps(server)
    server.answers["smith.conversations"] = lambda argument: {
        "conversation": argument.get("conversation", "c1"),
        "events": stored("older") if argument.get("conversation") == "c2" else [],
    }
    chat = opened(emacs, path)
    turn(server, "go")
    server.event("turn_completed", stop_reason="completed", usage={})
    assert chat.shows("❯ go")
    server.event("session_started", conversation="c2", root="/", resumed=True, title="")
    assert chat.shows("❯ older", "", "Stored answer.")
    server.event("session_started", conversation="c3", root="/", resumed=False, title="")
    assert chat.shows()


def test_events_that_were_missed_are_asked_for(emacs: Emacs, server: TestServer, path: Path) -> None:
    server.capabilities["executeCommandProvider"]["commands"] += ["smith.status"]
    missed = {"seq": 4, "conversation": "c1", "turn": "t1", "kind": "llm_output_delta", "message": "m1"}
    server.answers["smith.status"] = lambda argument: {"events": [{**missed, "text": "missed "}]}
    chat = opened(emacs, path)
    turn(server, "go")
    say(server, "first ")
    server.skip(1)
    say(server, "third")
    assert chat.shows("❯ go", "", "first missed third")
    assert server.commands("smith.status") == [{"since": 3}]


def test_a_chat_that_lost_events_for_good_is_loaded_again(emacs: Emacs, server: TestServer, path: Path) -> None:
    keeps(server)
    loads: list[list[dict[str, Any]]] = [[], stored("go")]
    server.answers["smith.conversations"] = lambda argument: {"conversation": "c1", "events": loads.pop(0)}
    chat = opened(emacs, path)
    turn(server, "go")
    say(server, "half")
    server.event("resync")
    assert chat.shows("❯ go", "", "Stored answer.")


def test_a_server_that_ends_is_told_and_starts_again_with_the_next_prompt(
    emacs: Emacs, server: TestServer, chat: Chat
) -> None:
    turn(server, "go")
    chat.shows("❯ go")
    emacs.lisp("(ignore (signal-process (smith-rpc-process (car smith-rpc--connections)) 'SIGKILL))")
    assert chat.shows("❯ go", "", "✗ the server was ended by signal 9")
    emacs.keys("again" + RET)
    assert until(lambda: server.commands("smith.turn"))[0]["text"] == "again"


def test_completion_shows_what_the_server_offers(emacs: Emacs, server: TestServer, path: Path) -> None:
    server.capabilities["executeCommandProvider"]["commands"].append("smith.complete")
    offered = [{"text": "/memory", "detail": "what is kept"}, {"text": "/model", "detail": "who works"}]
    server.answers["smith.complete"] = lambda argument: {"start": 0, "end": 2, "candidates": offered}
    chat = opened(emacs, path)
    emacs.keys("/mo" + TAB)
    assert chat.types("/model")
    assert server.commands("smith.complete")[0]["cursor"] == len(server.commands("smith.complete")[0]["line"])


def test_without_a_server_that_completes_the_key_does_nothing(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys("/mo" + TAB + "x")
    assert chat.types("/mox")
    assert server.commands("smith.complete") == []


@pytest.mark.parametrize("command", ["smith", "smith-health"])
def test_a_line_of_a_narrow_window_goes_on_in_the_next_row(
    emacs: Emacs, server: TestServer, chat: Chat, command: str
) -> None:
    emacs.keys(ESC + "x" + command + RET)
    until(lambda: command == "smith" or emacs.lisp("(derived-mode-p 'special-mode)"))
    emacs.lisp("(progn (window-resize nil (- 33 (window-total-width)) t) (window-total-width))")
    assert until(lambda: emacs.lisp("(window-total-width)") < 40)
    assert emacs.lisp("(null (truncated-partial-width-window-p))")


def test_help_and_health_answer(emacs: Emacs, server: TestServer, chat: Chat) -> None:
    emacs.keys("\x08m")
    until(lambda: "smith-cancel" in emacs.lisp('(with-current-buffer "*Help*" (buffer-string))'))
    emacs.lisp(f"(setq smith-command (list {quoted('sh')} {quoted('-c')} {quoted('echo smith 1.2.3')}))")
    emacs.keys(C_X + "1" + ESC + "xsmith-health" + RET)
    until(lambda: "version: smith 1.2.3" in emacs.lisp("(buffer-string)"))
    report = emacs.lisp("(buffer-string)")
    assert "ERROR" not in report
    assert "protocol 1, ours is 1; server 0-fake" in report
    assert f"attached: {server.documents and next(iter(server.documents)).removeprefix('file://')}" in report
