"""What the screen of a chat says beside the conversation: hints, what waits, what became of a turn."""

from pathlib import Path
from typing import Any

import pytest

from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

BAR = "return vim.api.nvim_eval_statusline(vim.wo[vim.fn.bufwinid(...)].winbar, { winid = vim.fn.bufwinid(...) }).str"


@pytest.fixture
def chat(editor: TestEditor, server: TestServer, project: Path) -> int:
    """A chat beside an empty file, with the cursor in its prompt."""
    editor.edit(project / "a.txt")
    editor.keys(":Smith<CR>")
    until(editor.is_ready)
    return editor.chat()


def turn(server: TestServer, text: str, **fields: Any) -> None:
    server.event("turn_started", text=text, model="m", **fields)


def screen(editor: TestEditor) -> str:
    """Every row of the screen as text."""
    text: str = editor.lua(
        """
        vim.cmd.redraw()
        local rows = {}
        for row = 1, vim.o.lines do
          local cells = {}
          for column = 1, vim.o.columns do
            cells[column] = vim.fn.screenstring(row, column)
          end
          rows[row] = table.concat(cells)
        end
        return table.concat(rows, '\\n')
        """
    )
    return text


def sees(editor: TestEditor, *texts: str) -> bool:
    return until(lambda: all(text in screen(editor) for text in texts), texts)


@pytest.mark.parametrize(("draft", "left"), [("", "are you there?"), ("draft", "draft")])
def test_a_prompt_that_waited_and_will_not_run_leaves_the_line_and_comes_back_to_an_empty_prompt(
    editor: TestEditor, server: TestServer, chat: int, draft: str, left: str
) -> None:
    turn(server, "go")
    server.event("prompt_queued", id="p2", text="are you there?")
    sees(editor, "waits: are you there?", "1 waiting")
    editor.keys(f"i{draft}")
    server.event("prompt_dropped", id="p2", text="are you there?")
    server.event("turn_cancelled", usage={})
    expected = ["❯ go", "", "i not sent: are you there?", "", "i Cancelled.", left]
    until(lambda: editor.lines(chat) == expected)
    until(lambda: "waits:" not in screen(editor) and "1 waiting" not in screen(editor))
    editor.keys("!<Esc>")
    until(lambda: editor.lines(chat)[-1] == f"{left}!")


def test_a_prompt_that_waited_leaves_the_line_by_its_name_when_its_turn_comes(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "go")
    server.event("prompt_queued", id="p2", text="again")
    server.event("prompt_queued", id="p3", text="again")
    until(lambda: "2 waiting" in editor.lua("return require('smith').status()"))
    server.event("turn_completed", usage={})
    turn(server, "again", queued="p3")
    until(lambda: "1 waiting" in editor.lua("return require('smith').status()"))
    server.event("prompt_dropped", id="p2", text="again")
    until(lambda: "waiting" not in editor.lua("return require('smith').status()"))


def test_a_question_says_how_it_is_answered_from_the_prompt(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    server.event("tool_call_started", call_id="c1", name="bash", arguments="{}", title="make")
    server.event("approval_asked", id="q1", call_id="c1", name="bash", title="make")
    sees(editor, "y yes · n no · a always", "at an empty prompt: <Esc> y", "anywhere: :Smith yes")
    editor.keys("i<Esc>y")
    assert until(lambda: server.commands("smith.answer")) == [{"id": "q1", "decision": "yes"}]
    server.event("approval_answered", id="q1", decision="yes")
    until(lambda: ":Smith yes" not in screen(editor))


@pytest.mark.parametrize("answer", [{"ok": True, "text": "help"}, {"ok": True}])
def test_a_command_that_succeeds_after_a_failed_turn_ends_the_failure(
    editor: TestEditor, server: TestServer, chat: int, answer: dict[str, Any]
) -> None:
    server.answers["smith.slash"] = lambda argument: answer
    turn(server, "go")
    server.event("turn_error", error={"kind": "transport", "code": "x", "message": "No model."})
    until(lambda: "failed" in editor.lua(BAR, chat))
    editor.keys("i/help<C-s>")
    until(lambda: "ready" in editor.lua(BAR, chat))


def test_events_of_a_later_server_are_taken_in_without_an_error(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "go")
    server.event("llm_retry", message="The model is overloaded.")
    server.event("dispatch_started", child="c9", target_role="reader", task="look")
    server.event("dispatch_finished", child="c9")
    server.event("context_trimmed", removed=3)
    server.event("agent_error", message="No room.")
    server.event("agent_error")
    server.event("no_such_kind", job="j1", text="x")
    server.event("turn_error")
    server.event("notice", level="info", text="done")
    until(lambda: "i done" in editor.lines(chat))
    unknown = "✗ Something failed; the log of the server has more."
    assert editor.lines(chat) == ["❯ go", "", "✗ No room.", "", unknown, "", "i done", ""]
    assert "Error" not in editor.messages()


HINTS = ("<C-s> sends", "<CR> sends in normal mode", "<C-c> stops", "g? shows the keys")


@pytest.mark.parametrize("columns", [80, 110])
def test_an_empty_chat_says_how_to_send_in_the_width_of_its_window(
    editor: TestEditor, server: TestServer, chat: int, columns: int
) -> None:
    editor.nvim.ui_try_resize(columns, 30)
    editor.nvim.command(f"{int(columns * 0.42)}wincmd |")
    sees(editor, *HINTS)


def test_a_resumed_chat_says_how_to_send_in_its_empty_prompt_until_something_is_sent(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    turn(server, "before")
    server.event("turn_completed", usage={})
    sees(editor, HINTS[0])
    editor.keys("ix")
    until(lambda: HINTS[0] not in screen(editor))
    editor.keys("<BS>")
    sees(editor, HINTS[0])
    editor.keys("hello<C-s>")
    until(lambda: server.commands("smith.turn"))
    until(lambda: editor.lines(chat)[-1] == "" and HINTS[0] not in screen(editor))


@pytest.mark.parametrize(
    ("columns", "told"),
    [(32, f"{HINTS[0]} · {HINTS[3]}"), (60, f"{HINTS[0]} · {HINTS[2]} · {HINTS[3]}"), (90, " · ".join(HINTS))],
)
def test_the_empty_prompt_of_a_resumed_chat_says_how_to_send_stop_and_get_help_where_there_is_room(
    editor: TestEditor, server: TestServer, chat: int, columns: int, told: str
) -> None:
    editor.nvim.command(f"{columns}wincmd |")
    turn(server, "before")
    sees(editor, told)


def test_when_text_goes_away_its_rows_are_filled_from_above(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    server.event("llm_output_delta", message="m1", text="".join(f"a{i}\n" for i in range(60)))
    sees(editor, "a59")
    editor.keys("i" + "word " * 240 + "end")
    sees(editor, "end")
    editor.keys("<C-s>")
    until(lambda: editor.lines(chat)[-1] == "")
    turn(server, "x")
    height = "return vim.api.nvim_win_text_height(0, { start_row = vim.fn.line('w0') - 1 }).all"
    room = editor.nvim.current.window.height - 1
    until(lambda: room - 3 <= editor.lua(height) <= room, lambda: editor.lua(height))


@pytest.mark.parametrize(
    ("columns", "bar"),
    [
        (40, " smith · ready"),
        (80, " smith · ready · 607 tokens"),
        (110, " smith · ready · gpt-4o-mini · 607 tokens"),
    ],
)
def test_the_line_above_the_chat_drops_what_has_no_room(
    editor: TestEditor, server: TestServer, chat: int, columns: int, bar: str
) -> None:
    server.event("turn_started", text="go", model="gpt-4o-mini")
    server.event("usage_updated", turn_usage={}, context=607)
    server.event("turn_completed", usage={})
    editor.nvim.ui_try_resize(columns, 30)
    editor.nvim.command(f"{int(columns * 0.42)}wincmd |")
    until(lambda: editor.lua(BAR, chat) == bar, bar)


REFUSAL = "The user said no to this call and nothing was changed."


@pytest.mark.parametrize("columns", [80, 110])
def test_the_outcome_of_a_folded_call_is_shown_whole(
    editor: TestEditor, server: TestServer, chat: int, columns: int
) -> None:
    editor.nvim.ui_try_resize(columns, 30)
    editor.nvim.command(f"{int(columns * 0.42)}wincmd |")
    until(lambda: editor.nvim.current.window.width == int(columns * 0.42))
    turn(server, "go")
    server.event("tool_call_started", call_id="c1", name="replace", arguments="{}", title="calc.py")
    server.event("tool_call_finished", call_id="c1", name="replace", ok=False, summary=REFUSAL, content="one\ntwo")
    until(lambda: editor.lines(chat)[-2:] == ["    two", ""])
    lines = editor.lines(chat)
    assert lines[2] == "✗ replace calc.py"
    assert " ".join(line.strip() for line in lines[3:-3]) == f"— {REFUSAL}"
    assert all(len(line) < int(columns * 0.42) for line in lines)
    last = len(lines) - 3
    closed = "return vim.tbl_map(function(line) return vim.fn.foldclosed(line) end, { ... })"
    assert editor.lua(closed, 3, last - 1, last, last + 1, last + 2) == [-1, -1, last, last, last]
    editor.keys("3Gza")
    until(lambda: editor.lua(closed, last) == [-1])
    editor.keys("za")
    until(lambda: editor.lua(closed, last) == [last])


def test_a_key_of_folds_where_there_is_none_is_no_error(editor: TestEditor, server: TestServer, chat: int) -> None:
    turn(server, "go")
    server.event("approval_asked", id="q1", call_id="c1", name="bash", title="make")
    server.event("approval_answered", id="q1", decision="yes")
    until(lambda: "  allowed: bash make" in editor.lines(chat))
    editor.keys("/allowed<CR>zazozczAzOzCG")
    until(lambda: editor.nvim.current.window.cursor[0] == len(editor.lines(chat)))
    assert "E490" not in editor.messages()


def test_a_page_takes_the_whole_height_and_gives_the_place_back(
    editor: TestEditor, server: TestServer, chat: int
) -> None:
    page = {"type": "pager", "title": "Prompt", "format": "markdown", "content": "# Title"}
    server.answers["smith.slash"] = lambda argument: {"ok": True, "ui": page}
    editor.keys("i/pager<C-s>")
    until(lambda: editor.lines() == ["# Title"])
    assert editor.nvim.current.window.height > 30
    assert editor.nvim.current.window.width == 100
    editor.in_mode("n")
    editor.keys("q")
    until(lambda: editor.nvim.current.buffer.number == chat)
    assert len(editor.nvim.tabpages) == 1


def test_two_slashes_send_a_prompt_that_begins_with_one(editor: TestEditor, server: TestServer, chat: int) -> None:
    editor.keys("i//etc is full<C-s>")
    until(lambda: server.commands("smith.turn"))
    assert server.commands("smith.turn")[0]["text"] == "/etc is full"
    server.event("prompt_queued", id="p1", text="/etc is full")
    server.event("prompt_dropped", id="p1", text="/etc is full")
    until(lambda: editor.lines(chat)[-1] == "//etc is full")
    assert server.commands("smith.slash") == []
