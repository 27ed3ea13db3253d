from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until
from tests.nvim.told import QUESTION, ask, say, stored, turn

pytestmark = pytest.mark.nvim


@pytest.fixture
def path(project: Path) -> Path:
    file = project / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    return file


@pytest.fixture
def chat(editor: TestEditor, server: TestServer, path: Path) -> int:
    """A file, and a chat beside it with the cursor in its prompt."""
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    return editor.chat()


def shown(editor: TestEditor, chat: int, *lines: str) -> bool:
    return editor.holds(chat, list(lines))


def test_a_prompt_is_sent_with_the_file_beside_the_chat_and_its_answer_is_shown(
    editor: TestEditor, server: TestServer, chat: int, path: Path
) -> None:
    editor.keys("ihello<CR>there<Esc><CR>")
    [argument] = until(lambda: server.commands("smith.turn"))
    assert argument == {"text": "hello\nthere", "context": {"uri": path.as_uri(), "cwd": str(path.parent)}}
    turn(server, "hello\nthere")
    say(server, "Hi, what can I")
    say(server, " do?\n\nTell me.\n")
    server.event("turn_completed", stop_reason="completed", usage={})
    assert shown(editor, chat, "❯ hello", "  there", "", "Hi, what can I do?", "", "Tell me.", "")


def test_a_prompt_is_sent_from_insert_mode(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys("ihello<C-s>")
    assert until(lambda: server.commands("smith.turn"))[0]["text"] == "hello"
    assert editor.mode()["mode"] == "i"


def test_the_keys_are_a_key_away(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.nvim.ui_try_resize(80, 24)
    editor.keys("g?")
    until(lambda: editor.nvim.current.buffer.name.endswith("doc/smith.txt"))
    assert "*smith-keys*" in editor.nvim.current.line
    assert all(window.height > 7 for window in editor.nvim.windows)


def test_a_prompt_that_is_refused_comes_back_and_typing_goes_on_at_its_end(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    editor.keys("imy question<C-s>")
    until(lambda: server.commands("smith.turn"))
    sent = [message for message in list(server.received) if message.get("method") == "workspace/executeCommand"][-1]
    server.send({"id": sent["id"], "error": {"code": -32803, "message": "Somebody else has it."}})
    until(lambda: editor.lines(chat)[-1] == "my question")
    editor.keys(" and more")
    assert until(lambda: editor.lines(chat)[-1] == "my question and more")


def test_an_empty_prompt_is_not_sent(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys("i  <C-s>")
    editor.keys("hello<C-s>")
    assert [call["text"] for call in until(lambda: server.commands("smith.turn"))] == ["hello"]


def test_what_was_typed_just_before_a_prompt_reaches_the_server_first(
    editor: TestEditor, server: TestServer, chat: int, path: Path
) -> None:
    editor.keys(":wincmd p<CR>ix<Esc>:Smith send look<CR>")
    until(lambda: server.commands("smith.turn"))
    methods = [message["method"] for message in server.received]
    assert "textDocument/didChange" in methods[: methods.index("workspace/executeCommand")]
    assert server.document(path).text == "xone\ntwo\nthree\n"


def test_lines_are_sent_as_a_selection(editor: TestEditor, server: TestServer, chat: int, path: Path) -> None:
    editor.keys(":wincmd p<CR>:1,2Smith send explain<CR>")
    [argument] = until(lambda: server.commands("smith.turn"))
    assert argument == {
        "text": "explain",
        "context": {
            "uri": path.as_uri(),
            "cwd": str(path.parent),
            "selection": "one\ntwo",
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 3}},
        },
    }


def test_a_selection_waits_in_the_chat_for_its_prompt(
    editor: TestEditor, server: TestServer, chat: int, path: Path
) -> None:
    path.write_text("é one two\n")
    editor.nvim.command("wincmd p | edit")
    editor.nvim.command("xmap <F3> <Plug>(smith-send)")
    editor.keys("0wve<F3>")
    until(lambda: editor.nvim.current.buffer.number == chat)
    editor.keys("iwhat is this?<C-s>")
    [argument] = until(lambda: server.commands("smith.turn"))
    assert argument["context"]["selection"] == "one"
    assert argument["context"]["range"] == {
        "start": {"line": 0, "character": 3},
        "end": {"line": 0, "character": 6},
    }


def test_calls_are_folded_to_one_line_each(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    server.event("llm_reasoning_delta", message="m1", text="first\nthen")
    server.event("tool_call_started", call_id="a", name="read", arguments='{"path": "a.txt"}', title="")
    content = "1 one\n2 two"
    server.event("tool_call_finished", call_id="a", name="read", ok=True, summary="2 lines", content=content)
    say(server, "Done.", "m2")
    assert shown(
        editor,
        chat,
        "❯ go",
        "",
        "· thought, 2 lines",
        "    first",
        "    then",
        "✓ read a.txt — 2 lines",
        "    1 one",
        "    2 two",
        "",
        "Done.",
        "",
    )
    folds = "return vim.tbl_map(function(l) return vim.fn.foldclosed(l) end, {1, 3, 4, 5, 6, 7, 8, 10})"
    assert editor.lua(folds) == [-1, 3, 3, 3, 6, 6, 6, -1]
    editor.keys(":split<CR>")
    assert editor.lua(folds) == [-1, 3, 3, 3, 6, 6, 6, -1]
    editor.keys(":enew<CR>:buffer #<CR>")
    assert editor.lua(folds) == [-1, 3, 3, 3, 6, 6, 6, -1]


def test_typing_goes_on_while_an_answer_comes(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    editor.keys("i")
    words = [f"word{number}" for number in range(60)]
    for number, word in enumerate(words):
        say(server, f"line {number}\n" if number % 3 else f"part {number} ")
        if number % 10 == 5:
            server.event("tool_call_started", call_id=str(number), name="bash", arguments="{}", title="x")
            server.event("tool_call_finished", call_id=str(number), name="bash", ok=True, summary="", content="o\np")
        editor.keys(word + " " if number % 7 else word + "<CR>")
    editor.keys("<Esc>")
    expected = "".join(word + " " if number % 7 else word + "\n" for number, word in enumerate(words)).split("\n")
    assert until(lambda: editor.lines(chat)[-len(expected) :] == expected)
    until(lambda: f"line {len(words) - 1}" in editor.lines(chat))
    assert editor.lines(chat).count("❯ go") == 1


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ("V<Tick>k<Tick>d", ["three"]),
        ("d<Tick>k", ["three"]),
        (":.d<Tick><CR>", ["one", "three"]),
        ("0<C-v>k<Tick>I#<Tick><Esc>", ["#one", "#two", "three"]),
        ("A<C-x><C-n><Tick><C-e><Esc>", ["one", "two", "three"]),
    ],
)
def test_a_command_half_typed_in_the_prompt_does_what_was_meant(
    editor: TestEditor, server: TestServer, chat: int, keys: str, left: list[str]
) -> None:
    turn(server, "go")
    say(server, "begin\n")
    editor.keys("ione<CR>two<CR>three<Esc>k")
    until(lambda: editor.lines(chat)[-3:] == ["one", "two", "three"])
    for part in keys.split("<Tick>"):
        editor.keys(part)
        say(server, "a line\nanother\n")
        server.request("smith/readBuffer", {"uri": "file:///none"})
    said = [*["begin"], *["a line", "another"] * len(keys.split("<Tick>"))]
    assert until(lambda: editor.lines(chat) == ["❯ go", "", *said, *left])


def test_the_answer_above_the_prompt_cannot_be_edited(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    say(server, "answer\nmore")
    editor.keys("idraft<Esc>")
    whole = ["❯ go", "", "answer", "more", "draft"]
    assert shown(editor, chat, *whole)
    editor.keys("ggdd")
    assert shown(editor, chat, *whole)
    editor.keys("Gdgg")
    assert shown(editor, chat, *whole[:-1], "")
    editor.keys("inew draft<Esc>:%d<CR>")
    assert shown(editor, chat, *whole[:-1], "")
    editor.keys("inewer<Esc>0i<BS><BS>")
    assert shown(editor, chat, *whole[:-1], "newer")
    editor.keys("<Esc>gg")
    until(lambda: editor.nvim.current.window.cursor[0] == 1)
    editor.keys("oX<Esc>")
    assert shown(editor, chat, *whole[:-1], "newerX")
    editor.keys("dd")
    assert shown(editor, chat, *whole[:-1], "")
    assert editor.nvim.current.window.cursor[0] == 5
    say(server, " words")
    assert shown(editor, chat, *whole[:3], "more words", "")


def test_undo_in_the_prompt_never_reaches_the_answer(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    say(server, "answer")
    until(lambda: "answer" in editor.lines(chat))
    editor.keys("ione<Esc>a two<Esc>u")
    assert editor.lines(chat) == ["❯ go", "", "answer", "one"]
    editor.keys("5u")
    assert editor.lines(chat) == ["❯ go", "", "answer", ""]


def test_prompts_sent_before_come_back(editor: TestEditor, server: TestServer, chat: int) -> None:
    for text in ("first", "second<CR>line"):
        editor.keys(f"i{text}<C-s><Esc>")
    until(lambda: len(server.commands("smith.turn")) == 2)
    editor.keys("idraft<C-p>")
    assert shown(editor, chat, "second", "line")
    editor.keys("<Up><Up>")
    assert shown(editor, chat, "first")
    editor.keys("<Down><C-n>")
    assert shown(editor, chat, "draft")


def test_a_slash_line_is_a_command_and_its_text_is_shown(editor: TestEditor, server: TestServer, chat: int) -> None:
    server.answers["smith.slash"] = lambda argument: {"ok": True, "text": "12 tokens\n3 requests"}
    editor.keys("i/usage<C-s>")
    assert until(lambda: server.commands("smith.slash")) == [{"line": "/usage"}]
    assert shown(editor, chat, "❯ /usage", "", "i 12 tokens", "  3 requests", "")
    assert server.commands("smith.turn") == []


def test_a_page_opens_in_a_window_of_its_own(editor: TestEditor, server: TestServer, chat: int) -> None:
    page = {"type": "pager", "title": "Prompt", "format": "markdown", "content": "# Title\n\ntext"}
    server.answers["smith.slash"] = lambda argument: {"ok": True, "ui": page}
    editor.keys("i/prompt<C-s><Esc>")
    until(lambda: editor.lines() == ["# Title", "", "text"])
    assert editor.option("filetype") == "markdown"
    editor.keys("q")
    assert until(lambda: editor.nvim.current.buffer.number == chat)


def test_a_failed_command_says_why(editor: TestEditor, server: TestServer, chat: int) -> None:
    error = {"kind": "schema", "code": "unknown_command", "message": "There is no /nope."}
    server.answers["smith.slash"] = lambda argument: {"ok": False, "error": error}
    editor.keys("i/nope<C-s>")
    assert shown(editor, chat, "❯ /nope", "", "✗ There is no /nope.", "")


@pytest.mark.parametrize(("key", "decision"), [("y", "yes"), ("n", "no"), ("a", "always")])
def test_a_question_is_answered_by_a_key_on_it(
    editor: TestEditor, server: TestServer, chat: int, key: str, decision: str
) -> None:
    turn(server, "go")
    ask(server)
    assert shown(editor, chat, "❯ go", "", "… bash make 1", *QUESTION, "")
    editor.keys(f"/May I<CR>{key}")
    assert until(lambda: server.commands("smith.answer")) == [{"id": "q1", "decision": decision}]
    server.event("approval_answered", id="q1", decision=decision)
    word = {"yes": "allowed", "no": "refused", "always": "always allowed"}[decision]
    assert shown(editor, chat, "❯ go", "", "… bash make 1", f"  {word}: bash make 1", "")


def test_a_question_takes_no_key_from_a_person_who_is_elsewhere(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "go")
    editor.keys("iyes, no and also")
    ask(server)
    until(lambda: QUESTION[0] in editor.lines(chat))
    editor.keys(" nay<Esc>yyPa<Esc>")
    before = ["❯ go", "", "… bash make 1", *QUESTION]
    assert shown(editor, chat, *before, "yes, no and also nay", "yes, no and also nay")
    editor.keys(":wincmd p<CR>yypa <Esc>")
    until(lambda: editor.lines() == ["one", "o ne", "two", "three"])
    assert server.commands("smith.answer") == []


@pytest.mark.parametrize(("key", "decision"), [("y", "yes"), ("n", "no")])
def test_a_question_is_answered_from_an_empty_prompt(
    editor: TestEditor, server: TestServer, chat: int, key: str, decision: str
) -> None:
    turn(server, "go")
    ask(server)
    until(lambda: QUESTION[0] in editor.lines(chat))
    editor.keys(f"G{key}")
    assert until(lambda: server.commands("smith.answer")) == [{"id": "q1", "decision": decision}]


def test_always_is_not_answered_from_the_prompt(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    ask(server)
    until(lambda: QUESTION[0] in editor.lines(chat))
    editor.keys("Gand more<Esc>")
    until(lambda: editor.lines(chat)[-1] == "nd more")
    assert server.commands("smith.answer") == []


def test_questions_are_answered_by_commands_from_anywhere_oldest_first(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "go")
    ask(server, 1)
    ask(server, 2)
    until(lambda: "? May I run bash make 2?" in editor.lines(chat))
    editor.keys(":wincmd p<CR>:Smith yes<CR>")
    until(lambda: server.commands("smith.answer"))
    server.event("approval_answered", id="q1", decision="yes")
    until(lambda: "  allowed: bash make 1" in editor.lines(chat))
    editor.keys(":Smith no not this one<CR>")
    assert until(lambda: len(server.commands("smith.answer")) == 2 and server.commands("smith.answer")) == [
        {"id": "q1", "decision": "yes"},
        {"id": "q2", "decision": "no", "feedback": "not this one"},
    ]


def test_a_question_that_nobody_sees_is_told_in_one_line(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys(":Smith close<CR>")
    until(lambda: len(editor.nvim.windows) == 1)
    turn(server, "go")
    ask(server)
    until(lambda: "may I run bash make 1?" in editor.messages())
    assert not editor.mode()["blocking"]
    assert len(editor.nvim.windows) == 1


def cancelled(server: TestServer) -> list[dict[str, Any]]:
    return until(lambda: server.commands("smith.cancel"))


@pytest.mark.parametrize("keys", ["<C-c>", "i<C-c>", ":wincmd p<CR>:Smith cancel<CR>"])
def test_a_running_turn_is_cancelled_from_the_chat_and_by_command(
    editor: TestEditor, server: TestServer, chat: int, keys: str
) -> None:
    turn(server, "go")
    until(lambda: "❯ go" in editor.lines(chat))
    editor.keys(keys)
    assert cancelled(server) == [{"conversation": "c1"}]
    server.event("turn_cancelled", usage={})
    assert shown(editor, chat, "❯ go", "", "i Cancelled.", "")


def test_a_turn_that_has_not_begun_is_cancelled_too_and_otherwise_the_key_leaves_insert_mode(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    editor.keys("i<C-c>")
    editor.in_mode("n")
    editor.keys("ihello<C-s>")
    until(lambda: server.commands("smith.turn"))
    editor.keys("<C-c>")
    assert cancelled(server) == [{}]
    server.respond("smith.turn", {"stop_reason": "cancelled"})
    editor.in_mode("i")
    until(lambda: not editor.lua("return require('smith.session').all()[1]:is_busy()"))
    editor.keys("<C-c>")
    editor.in_mode("n")


@pytest.mark.parametrize("how", ["bdelete", "bwipeout"])
def test_a_chat_that_was_deleted_opens_again_as_it_was(
    editor: TestEditor, server: TestServer, chat: int, how: str
) -> None:
    turn(server, "go")
    say(server, "answer")
    until(lambda: "answer" in editor.lines(chat))
    editor.nvim.command(f"{how} {chat}")
    say(server, " goes on")
    editor.keys(":Smith<CR>")
    until(lambda: editor.nvim.current.buffer.name.startswith("smith://"))
    assert shown(editor, editor.chat(), "❯ go", "", "answer goes on", "")
    say(server, ".")
    assert shown(editor, editor.chat(), "❯ go", "", "answer goes on.", "")


def test_another_conversation_is_loaded_when_the_server_resumes_it(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    answers = {"c2": {"conversation": "c2", "events": stored("older")}}
    server.answers["smith.conversations"] = lambda argument: answers.get(
        argument.get("conversation", ""), {"conversation": "c1", "events": []}
    )
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    turn(server, "go")
    server.event("turn_completed", stop_reason="completed", usage={})
    assert shown(editor, editor.chat(), "❯ go", "")
    server.event("session_started", conversation="c2", root="/", resumed=True, title="")
    assert shown(editor, editor.chat(), "❯ older", "", "Stored answer.", "")
    server.event("session_started", conversation="c3", root="/", resumed=False, title="")
    assert shown(editor, editor.chat(), "")


def test_the_cancel_key_works_in_changed_buffers_while_the_turn_runs_and_is_given_back(
    editor: TestEditor, server: TestServer, chat: int, path: Path
) -> None:
    editor.keys(":wincmd p<CR>")
    editor.nvim.command("nnoremap <buffer> <C-c> :let g:mine = 1<CR>")
    mapped = "return vim.fn.maparg('<C-c>', 'n')"
    mine = editor.lua(mapped)
    turn(server, "go")
    until(lambda: "❯ go" in editor.lines(chat))
    document = server.document(path)
    server.apply(server.change(document, [document.edit(0, "one", "1")]))
    until(lambda: editor.lua(mapped) != mine)
    editor.keys("<C-c>")
    assert cancelled(server) == [{"conversation": "c1"}]
    server.event("turn_cancelled", usage={})
    assert until(lambda: editor.lua(mapped) == mine)
    editor.keys("<C-c>")
    assert until(lambda: editor.lua("return vim.g.mine")) == 1


def test_what_waits_and_what_the_agent_does_is_shown_above_the_chat(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    bar = "return vim.wo[vim.fn.bufwinid(...)].winbar"
    assert editor.lua(bar, chat) == " smith · ready"
    turn(server, "go")
    server.event("prompt_queued", id="p2", text="and then this")
    server.event("usage_updated", turn_usage={}, context=12345)
    assert until(lambda: editor.lua(bar, chat) == " smith · thinking · 1 waiting")
    server.event("turn_completed", stop_reason="completed", usage={})
    turn(server, "and then this")
    assert until(lambda: editor.lua(bar, chat) == " smith · thinking · m · 12.3k tokens")


def test_the_status_tells_what_the_conversation_has_cost_where_that_is_known(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    status = """
      return require('smith.view.winbar').text('ready', {
        status = 'idle', model = '', context = 0, queue = {}, cost = ... })
    """
    assert editor.lua(status, 0.0123) == "ready · $0.0123"
    assert editor.lua(status, 1.5) == "ready · $1.50"
    assert editor.lua(status) == "ready"
    turn(server, "go")
    server.event("usage_updated", turn_usage={}, context=0, cost=None)
    server.event("usage_updated", turn_usage={}, context=0, cost=0.25)
    assert until(lambda: "$0.25" in editor.lua("return vim.wo[vim.fn.bufwinid(...)].winbar", chat))


def test_an_attempt_whose_output_is_void_is_taken_away(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    server.event("llm_reasoning_delta", message="m1", text="hm")
    say(server, "half an ans")
    until(lambda: "half an ans" in editor.lines(chat))
    error = {"kind": "transport", "code": "overloaded", "message": "The model is overloaded."}
    server.event("llm_retry", layer="empty", attempt=2, delay_ms=10, error=error, discard_output=True)
    say(server, "An answer.", "m2")
    assert shown(editor, chat, "❯ go", "", "An answer.", "")


def test_the_stored_conversation_is_shown_when_the_chat_opens(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    page = {"conversation": "c1", "events": stored("before"), "before": "m0"}
    server.answers["smith.conversations"] = lambda argument: page
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    note = "i What came before is stored and not shown here."
    assert shown(editor, editor.chat(), note, "", "❯ before", "", "Stored answer.", "")
    assert server.commands("smith.conversations") == [{"op": "load"}]
    turn(server, "now")
    assert shown(editor, editor.chat(), note, "", "❯ before", "", "Stored answer.", "", "❯ now", "")
    editor.keys("i<C-p>")
    assert shown(editor, editor.chat(), note, "", "❯ before", "", "Stored answer.", "", "❯ now", "before")


def test_events_that_were_missed_are_asked_for(editor: TestEditor, server: TestServer, path: Path) -> None:
    server.capabilities["executeCommandProvider"]["commands"] += ["smith.status"]
    missed = {"seq": 4, "conversation": "c1", "turn": "t1", "kind": "llm_output_delta", "message": "m1"}
    server.answers["smith.status"] = lambda argument: {"events": [{**missed, "text": "missed "}]}
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    turn(server, "go")
    say(server, "first ")
    server.skip(1)
    say(server, "third")
    assert shown(editor, editor.chat(), "❯ go", "", "first missed third", "")
    assert server.commands("smith.status") == [{"since": 3}]


def test_a_chat_that_lost_events_for_good_is_loaded_again(editor: TestEditor, server: TestServer, path: Path) -> None:
    server.capabilities["executeCommandProvider"]["commands"].append("smith.conversations")
    loads: list[list[dict[str, Any]]] = [[], stored("go")]
    server.answers["smith.conversations"] = lambda argument: {"conversation": "c1", "events": loads.pop(0)}
    editor.edit(path)
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    turn(server, "go")
    say(server, "half")
    server.event("resync")
    assert shown(editor, editor.chat(), "❯ go", "", "Stored answer.", "")


def test_a_message_whose_pieces_were_lost_is_put_right_when_it_is_whole(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "go")
    say(server, "The ")
    server.event("message_added", message={"id": "m1", "role": "assistant", "text": "The whole\nanswer."})
    assert shown(editor, chat, "❯ go", "", "The whole", "answer.", "")


def test_the_words_in_the_buffer_are_not_the_agents_to_colour_outside_the_chat(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "go")
    say(server, "# Title\n`code` and **strong**\n```lua\nlocal x\n```\n")
    until(lambda: "```" in editor.lines(chat))
    groups = editor.lua(
        """
        local space = vim.api.nvim_get_namespaces()['smith.colours']
        local seen = {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(..., space, 0, -1, { details = true })) do
          seen[#seen + 1] = { mark[2], mark[3], mark[4].hl_group }
        end
        return seen
        """,
        chat,
    )
    assert groups == [
        [0, 0, "SmithPrompt"],
        [2, 0, "SmithHeading"],
        [3, 0, "SmithCode"],
        [3, 11, "SmithStrong"],
        [4, 0, "SmithCodeBlock"],
        [5, 0, "SmithCodeBlock"],
        [6, 0, "SmithCodeBlock"],
    ]


def test_a_command_is_completed_by_what_the_server_knows(editor: TestEditor, server: TestServer, chat: int) -> None:
    found = [{"text": "direct ", "detail": "Smith"}, {"text": "orchestrator ", "detail": "Tank"}]
    server.answers["smith.complete"] = lambda argument: {"start": 6, "end": 6, "candidates": found}
    editor.keys("i/role <Tab>")
    assert until(lambda: server.commands("smith.complete")) == [{"line": "/role ", "cursor": 6}]
    until(lambda: editor.nvim.funcs.pumvisible())
    editor.keys("<Tab><C-y>x")
    assert until(lambda: editor.nvim.current.line == "/role orchestrator x")


def test_a_tab_in_a_prompt_that_is_no_command_is_a_tab(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys("ia<Tab>b<Esc>")
    until(lambda: editor.nvim.current.line == "a\tb")
    assert server.commands("smith.complete") == []
