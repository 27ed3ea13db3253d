from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.nvim.documents import text_hash
from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

TEXT = "".join(f"line {number} foo\n" for number in range(1, 11))
HERE = 4


@dataclass
class State:
    """Keys that lead into a state, the mode it shows, and keys that lead out."""

    name: str
    enter: str
    mode: str
    leave: str = ""
    first: str = "deferred"
    last: str = "applied"
    line: int = 0
    setup: str = ""


AT_ONCE = [
    State("normal", "", "n", first="applied"),
    State("macro recording", "qa", "n", "q", first="applied"),
    State("insert on another line", "i", "i", "<Esc>", first="applied"),
    State("replace on another line", "R", "R", "<Esc>", first="applied"),
    State("visual in another buffer", ":new<CR>iabc<Esc>V", "V", "<Esc>", first="applied"),
    State("terminal mode elsewhere", "i", "t", "<C-\\><C-n>", first="applied", setup="new | terminal cat"),
    State("terminal normal mode", "<C-\\><C-n>", "nt", "", first="applied", setup="new | terminal cat"),
]
LATER = [
    State("insert on the line of the edit", "i", "i", "<Esc>", line=HERE),
    State("insert after typing there", "ixyz", "i", "<Esc>", line=HERE),
    State("insert with typing meanwhile", "i", "i", "xyz<Esc>", line=HERE, last="stale"),
    State("replace on the line of the edit", "R", "R", "<Esc>", line=HERE),
    State("completion submode", "i<C-x>", "ix", "<Esc>"),
    State("completion menu", "ofo<C-n>", "ic", "<C-e><Esc>", last="stale"),
    State("visual lines", "V", "V", "<Esc>"),
    State("visual characters", "v", "v", "<Esc>"),
    State("visual block", "<C-v>", "\x16", "<Esc>"),
    State("select mode", "gh", "s", "<Esc>"),
    State("operator pending", "d", "no", "<Esc>"),
    State("insert over a visual block", "<C-v>jI##", "i", "<Esc>", last="stale"),
    State("one command in insert mode", "i<C-o>", "niI", "<Esc><Esc>"),
    State("command line", ":2d", "c", "<C-c>"),
    State("command line entered", ":2d", "c", "<CR>", last="stale"),
    State("search", "/foo", "c", "<C-c>"),
    State("input()", ":call input('x')<CR>", "c", "<CR>"),
    State("vim.ui.input", ":lua vim.ui.input({}, function() end)<CR>", "c", "<CR>"),
    State("inputlist()", ":call inputlist(['a'])<CR>", "c", "<CR>"),
    State("substitute with questions", ":%s/foo/bar/gc<CR>", "r?", "q"),
    State("substitute with a yes", ":%s/foo/bar/gc<CR>", "r?", "yq", last="stale"),
    State("confirm()", ":call confirm('x')<CR>", "r?", "<CR>"),
    State("command-line window", "q:", "n", ":q<CR>"),
    State("getchar()", ":call getchar()<CR>", "n", "x"),
    State("vim.wait", ":lua vim.wait(400, function() end)<CR>", "n"),
    State("sleep", ":sleep 400m<CR>", "n"),
    State(
        "text lock",
        "<F2>",
        "n",
        setup="lua vim.keymap.set('n', '<F2>', function() vim.wait(400, function() end) return '' end, {expr = true})",
    ),
]


def insertion(server: TestServer, path: Path, line: int) -> dict[str, object]:
    document = server.document(path)
    return server.change(document, [document.edit(line, "", "agent\n")])


def in_step(editor: TestEditor, server: TestServer, path: Path) -> str:
    """The text that editor and server agree on, once they do."""
    number = editor.nvim.funcs.bufnr(str(path))

    def agreed() -> str:
        text = "".join(line + "\n" for line in editor.lines(number))
        return text if server.document(path).text == text else ""

    return until(agreed)


@pytest.mark.parametrize("state", AT_ONCE + LATER, ids=lambda state: state.name)
def test_an_edit_waits_for_the_editor_where_it_must_and_only_there(
    editor: TestEditor, server: TestServer, project: Path, state: State
) -> None:
    path = project / "a.txt"
    path.write_text(TEXT)
    editor.edit(path)
    editor.start()
    editor.keys(f"{HERE + 1}G")
    if state.setup:
        editor.nvim.command(state.setup)
    editor.keys(state.enter)
    editor.in_mode(state.mode)
    busy = state.name in ("vim.wait", "sleep", "text lock", "getchar()")
    before = TEXT if busy else in_step(editor, server, path)
    change = insertion(server, path, state.line)

    first = server.apply(change)
    assert first["status"] == state.first
    assert server.sent("smith/editDone") == []
    editor.keys(state.leave)
    receipt = first if state.first == "applied" else server.done(str(change["change"]))

    assert receipt["status"] == state.last
    after = in_step(editor, server, path)
    if state.last == "applied":
        assert receipt["hash"] == text_hash(after)
        lines = before.splitlines(keepends=True)
        assert after == "".join([*lines[: state.line], "agent\n", *lines[state.line :]])
    else:
        assert "agent" not in after
        assert receipt["current"]["text"] == after.splitlines()[state.line]
    assert len(server.sent("smith/editDone")) == (0 if state.first == "applied" else 1)


@pytest.mark.parametrize("key", ["f", "r", '"', "g", "i<C-k>", "i<C-r>", ':echo "a\\nb"<CR>'])
def test_an_edit_asked_for_while_neovim_waits_for_a_key_is_made_when_the_key_has_come(
    editor: TestEditor, server: TestServer, project: Path, key: str
) -> None:
    path = project / "a.txt"
    path.write_text(TEXT)
    editor.edit(path)
    editor.start()
    editor.keys("G" + key)
    until(lambda: editor.mode()["blocking"])
    answer = server.ask("smith/applyEdit", insertion(server, path, 0))
    assert not answer.done()
    editor.keys("<Esc><Esc>")
    assert answer.result(10)["status"] == "applied"
    assert in_step(editor, server, path) == "agent\n" + TEXT


def test_an_edit_whose_deadline_passed_while_neovim_waited_for_a_key_is_not_made(
    editor: TestEditor, server: TestServer, project: Path
) -> None:
    path = project / "a.txt"
    path.write_text(TEXT)
    editor.edit(path)
    editor.start()
    editor.keys("f")
    until(lambda: editor.mode()["blocking"])
    document = server.document(path)
    change = server.change(document, [document.edit(0, "", "agent\n")], deadline_ms=-1)
    answer = server.ask("smith/applyEdit", change)
    editor.keys("<Esc>")
    assert answer.result(10)["status"] == "expired"
    assert editor.lines() == TEXT.splitlines()


def test_a_deferred_edit_expires_at_its_deadline(editor: TestEditor, server: TestServer, project: Path) -> None:
    path = project / "a.txt"
    path.write_text(TEXT)
    editor.edit(path)
    editor.start()
    editor.keys("V")
    editor.in_mode("V")
    document = server.document(path)
    change = server.change(document, [document.edit(0, "", "agent\n")], deadline_ms=150)
    assert server.apply(change)["status"] == "deferred"
    assert server.done(change["change"])["status"] == "expired"
    editor.keys("<Esc>")
    assert editor.lines() == TEXT.splitlines()


def test_a_deferred_edit_that_is_taken_back_is_never_made(
    editor: TestEditor, server: TestServer, project: Path
) -> None:
    path = project / "a.txt"
    path.write_text(TEXT)
    editor.edit(path)
    editor.start()
    editor.keys("V")
    editor.in_mode("V")
    change = insertion(server, path, 0)
    assert server.apply(change)["status"] == "deferred"
    assert server.apply(change)["status"] == "deferred"
    server.notify("smith/withdrawEdit", {"change": change["change"]})
    assert server.done(str(change["change"]))["status"] == "withdrawn"
    editor.keys("<Esc>")
    editor.in_mode("n")
    server.notify("smith/withdrawEdit", {"change": change["change"]})
    assert server.apply(insertion(server, path, 1))["status"] == "applied"
    assert [report["status"] for report in server.sent("smith/editDone")] == ["withdrawn"]
    assert editor.lines()[:2] == ["line 1 foo", "agent"]


def test_waiting_edits_cost_no_time(editor: TestEditor, server: TestServer, project: Path) -> None:
    path = project / "a.txt"
    path.write_text(TEXT)
    editor.edit(path)
    editor.start()
    editor.lua(
        """
        _G.tries = 0
        local check = require('smith.ready').check
        require('smith.ready').check = function(...)
          _G.tries = _G.tries + 1
          return check(...)
        end
        """
    )
    editor.keys("V")
    editor.in_mode("V")
    document = server.document(path)
    change = server.change(document, [document.edit(0, "", "agent\n")], deadline_ms=500)
    assert server.apply(change)["status"] == "deferred"
    server.done(change["change"])
    assert 2 <= editor.lua("return _G.tries") <= 10
