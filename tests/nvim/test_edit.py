import time
from pathlib import Path
from typing import Any

import pytest

from tests.nvim.documents import text_hash
from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

TEXT = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def path(project: Path) -> Path:
    return project / "a.txt"


def open_file(editor: TestEditor, path: Path, content: bytes | str = TEXT) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    editor.edit(path)
    editor.start()


def current_hash(editor: TestEditor) -> str:
    value: str = editor.lua("local t = require('smith.text'); return t.hash(t.read(0).text)")
    return value


def agree(editor: TestEditor, server: TestServer, path: Path) -> bool:
    return until(lambda: server.document(path).hash == current_hash(editor))


def test_an_edit_lands_in_an_unsaved_buffer_and_the_file_is_left_alone(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    open_file(editor, path)
    editor.keys("Goadded by hand<Esc>gg")
    agree(editor, server, path)
    document = server.document(path)
    receipt = server.apply(server.change(document, [document.edit(1, "two", "TWO")]))
    after = "one\nTWO\nthree\nfour\nfive\nadded by hand\n"
    assert receipt == {"status": "applied", "version": document.version, "hash": text_hash(after)}
    assert document.text == after
    assert path.read_text() == TEXT
    assert editor.option("modified")


def test_the_server_has_the_new_text_before_it_has_the_receipt(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    open_file(editor, path)
    for number in range(50):
        document = server.document(path)
        receipt = server.apply(server.change(document, [document.edit(0, "", f"line {number}\n")]))
        assert (receipt["hash"], receipt["version"]) == (document.hash, document.version)


def test_a_text_that_changed_refuses_the_edit_and_shows_what_is_there(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    open_file(editor, path)
    document = server.document(path)
    change = server.change(document, [document.edit(1, "two\nthree", "2\n3")])
    editor.keys("2Gxj0i33<Esc>")
    agree(editor, server, path)
    assert server.apply(change) == {
        "status": "stale",
        "message": "the text changed since it was read",
        "current": {
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 3, "character": 0}},
            "text": "wo\n33three",
        },
    }
    assert editor.lines() == ["one", "wo", "33three", "four", "five"]


@pytest.mark.parametrize(
    ("line", "old", "column"),
    [(1, "one", 0), (9, "two", 0), (1, "two", 1), (1, "two", 60), (5, "x", 0), (5, "", 1), (1, "two\nfour", 0)],
)
def test_a_range_that_does_not_hold_the_old_text_refuses_the_whole_edit(
    editor: TestEditor, server: TestServer, path: Path, line: int, old: str, column: int
) -> None:
    open_file(editor, path)
    document = server.document(path)
    edits = [document.edit(0, "one", "ONE"), document.edit(line, old, "X", column)]
    assert server.apply(server.change(document, edits))["status"] == "stale"
    assert editor.lines() == TEXT.splitlines()


def test_an_equal_text_under_another_version_is_not_stale(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path)
    document = server.document(path)
    change = server.change(document, [document.edit(1, "two", "TWO")])
    editor.keys("xu:w<CR>")
    agree(editor, server, path)
    assert server.apply(change)["status"] == "applied"


@pytest.mark.parametrize("option", ["readonly", "nomodifiable"])
def test_a_locked_buffer_is_not_edited(editor: TestEditor, server: TestServer, path: Path, option: str) -> None:
    open_file(editor, path)
    editor.nvim.command(f"set {option}")
    document = server.document(path)
    assert server.apply(server.change(document, [document.edit(0, "one", "x")]))["status"] == "read_only"
    assert editor.lines() == TEXT.splitlines()


def test_a_closed_file_is_not_opened_for_an_edit(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path)
    document = server.document(path)
    change = server.change(document, [document.edit(0, "one", "x")])
    editor.nvim.command("enew | bdelete #")
    assert server.apply(change)["status"] == "gone"
    assert editor.nvim.funcs.bufloaded(str(path)) == 0
    assert server.request("smith/readBuffer", {"uri": document.uri}) == {"open": False}


def test_a_change_that_was_made_is_answered_again_and_not_made_again(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    open_file(editor, path)
    document = server.document(path)
    change = server.change(document, [document.edit(0, "", "once\n")])
    receipt = server.apply(change)
    assert server.apply(change) == receipt
    assert editor.lines() == ["once", *TEXT.splitlines()]


def test_several_ranges_are_one_step_of_undo_between_what_was_typed(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    open_file(editor, path)
    editor.keys("GA before")
    until(lambda: editor.lines()[-1] == "five before")
    agree(editor, server, path)
    document = server.document(path)
    edits = [document.edit(0, "one", "ONE"), document.edit(1, "", "between\n"), document.edit(2, "three\n", "")]
    assert server.apply(server.change(document, edits))["status"] == "applied"
    editor.keys(" after<Esc>")
    steps = [editor.lines()]
    for _ in range(3):
        editor.keys("u")
        steps.append(editor.lines())
    edited = ["ONE", "between", "two", "four"]
    assert steps == [
        [*edited, "five before after"],
        [*edited, "five before"],
        ["one", "two", "three", "four", "five before"],
        TEXT.splitlines(),
    ]
    assert not editor.option("modified")
    editor.keys("3<C-r>")
    assert editor.lines() == [*edited, "five before after"]


def test_two_edits_in_a_row_are_two_steps_of_undo(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path)
    document = server.document(path)
    server.apply(server.change(document, [document.edit(0, "one", "1")]))
    server.apply(server.change(document, [document.edit(1, "two", "2")]))
    editor.keys("u")
    assert editor.lines()[:2] == ["1", "two"]


def test_repeating_with_a_dot_repeats_what_was_typed_before_and_after_the_edit(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    open_file(editor, path)
    editor.keys("GAabc")
    until(lambda: editor.lines()[-1] == "fiveabc")
    agree(editor, server, path)
    document = server.document(path)
    server.apply(server.change(document, [document.edit(0, "", "agent\n")]))
    editor.keys("def<Esc>2G.")
    assert editor.lines() == ["agent", "oneabcdef", "two", "three", "four", "fiveabcdef"]


@pytest.mark.parametrize("value", ["-1", "0", "5"])
def test_undolevels_stay_as_they_were_set(editor: TestEditor, server: TestServer, path: Path, value: str) -> None:
    open_file(editor, path)
    editor.nvim.command(f"setlocal undolevels={value}")
    editor.lua("_G.seen = {}; vim.api.nvim_create_autocmd('OptionSet', {callback = function(e) _G.seen = e end})")
    document = server.document(path)
    receipt = server.apply(server.change(document, [document.edit(0, "one", "1")]))
    message = {"message": "undo is off in this buffer"} if value == "-1" else {}
    assert receipt == {"status": "applied", "version": document.version, "hash": document.hash, **message}
    assert editor.option("undolevels") == int(value)
    assert editor.lua("return _G.seen") == []


def test_cursor_view_marks_and_folds_of_all_windows_stay_with_their_lines(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    lines = [f"line {number}" for number in range(1, 201)]
    open_file(editor, path, "\n".join(lines) + "\n")
    editor.keys("150Gztma120Gmb:set foldmethod=manual<CR>:160,170fold<CR>150G3l:split<CR>50Gzt:wincmd p<CR>")
    places = """
        local seen = {}
        for i, win in ipairs(vim.api.nvim_list_wins()) do
          seen[i] = vim.api.nvim_win_call(win, function()
            local view = vim.fn.winsaveview()
            return { vim.fn.getline('.'), view.col, vim.fn.getline(view.topline) }
          end)
        end
        seen[#seen + 1] = { vim.fn.getline("'a"), vim.fn.getline("'b") }
        seen[#seen + 1] = { vim.fn.getline(vim.fn.foldclosed(vim.fn.search('line 165', 'n'))) }
        return seen
    """
    before = editor.lua(places)
    document = server.document(path)
    new = "LINE 119\nnew\nLINE 120\nnewer\nLINE 121"
    edits = [document.edit(9, "", "x\ny\n"), document.edit(118, "line 119\nline 120\nline 121", new)]
    assert server.apply(server.change(document, edits))["status"] == "applied"
    after = editor.lua(places)
    assert after[:-2] == before[:-2]
    assert after[-2] == ["line 150", "new"]
    assert after[-1] == before[-1] == ["line 160"]


def test_what_became_of_each_hunk_is_told_once(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path)
    document = server.document(path)
    change = server.change(document, [document.edit(0, "one", "ONE"), document.edit(3, "four\n", "")])
    server.apply(change)

    def told() -> list[tuple[int, str]]:
        reports = server.sent("smith/changeState")
        assert all(report["change"] == change["change"] for report in reports)
        return [(report["hunk"], report["state"]) for report in reports]

    editor.keys("GAmine<Esc>")
    editor.keys("uu")
    undone = until(lambda: len(told()) == 2 and told())
    assert sorted(undone) == [(0, "undone"), (1, "undone")]
    editor.keys("<C-r>")
    redone = until(lambda: len(told()) == 4 and told())
    assert sorted(redone[2:]) == [(0, "redone"), (1, "redone")]
    editor.keys("ggxu")
    touched = until(lambda: len(told()) == 6 and told())
    assert touched[4:] == [(0, "touched"), (0, "redone")]


def test_edits_of_hidden_buffers_are_made_and_reported(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path)
    editor.nvim.command("set hidden | enew")
    document = server.document(path)
    receipt = server.apply(server.change(document, [document.edit(0, "one", "1")]))
    assert (receipt["status"], receipt["hash"]) == ("applied", document.hash)
    assert editor.nvim.current.buffer.name == ""
    assert len(editor.nvim.windows) == 1


ODD = {
    "crlf": (b"one\r\ntwo\r\nthree\r\n", "two\r\n", "zwei\r\ndrei\r\n", b"one\r\nzwei\r\ndrei\r\nthree\r\n"),
    "crlf-no-end": (b"one\r\ntwo", "two", "zwei", b"one\r\nzwei"),
    "bom": (b"\xef\xbb\xbfone\ntwo\n", "two", "zwei", b"\xef\xbb\xbfone\nzwei\n"),
    "latin-1": (b"caf\xe9\nna\xefve\n", "naïve", "naïf é", b"caf\xe9\nna\xeff \xe9\n"),
    "no-end": (b"one\ntwo\nthree", "two", "zwei", b"one\nzwei\nthree"),
    "lone-cr": (b"a\rb\nc\rd\ne\n", "c\rd", "c\rD", b"a\rb\nc\rD\ne\n"),
    "mixed": (b"one\r\ntwo\nthree\r\n", "two", "zwei", b"one\r\nzwei\nthree\r\n"),
    "emoji": ("😀 é one\n😀 two\n".encode(), "😀 two", "😀 zwei 😀", "😀 é one\n😀 zwei 😀\n".encode()),
    "form-feed": (b"a\x0cb\ntwo\x0b\n", "two\x0b", "zwei", b"a\x0cb\nzwei\n"),
    "u2028": ("a\u2028b\u0085c\ntwo\n".encode(), "two", "zwei", "a\u2028b\u0085c\nzwei\n".encode()),
    "decomposed": ("e\u0301\ntwo\n".encode(), "two", "zw\u00e9i", "e\u0301\nzw\u00e9i\n".encode()),
}


@pytest.mark.parametrize("name", ODD)
def test_bytes_outside_an_edit_stay_as_they_are(editor: TestEditor, server: TestServer, path: Path, name: str) -> None:
    content, old, new, expected = ODD[name]
    open_file(editor, path, content)
    editor.nvim.command("set nofixeol")
    document = server.document(path)
    assert document.hash == current_hash(editor)
    receipt = server.apply(server.change(document, [document.edit(1, old, new)]))
    assert (receipt["status"], receipt["hash"]) == ("applied", document.hash)
    assert path.read_bytes() == content
    editor.nvim.command("write")
    assert path.read_bytes() == expected


REFUSED = {
    "only-cr": (b"one\rtwo\r", "one", "x"),
    "nul": (b"a\x00b\nc\n", "", "x"),
    "not-in-latin-1": (b"caf\xe9\n", "", "😀"),
    "nul-in-new": (b"one\n", "one", "a\x00b"),
    "bare-lf-in-crlf": (b"one\r\ntwo\r\n", "one", "a\nb"),
    "takes-final-newline": (b"one\ntwo\n", "one\ntwo\n", "x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_edit_that_could_not_be_right_is_refused_with_its_reason(
    editor: TestEditor, server: TestServer, path: Path, name: str
) -> None:
    content, old, new = REFUSED[name]
    open_file(editor, path, content)
    before = editor.lines()
    document = server.document(path)
    receipt = server.apply(server.change(document, [document.edit(0, old, new)]))
    assert receipt["status"] == "refused"
    assert len(receipt["message"]) > 15
    assert editor.lines() == before


ENDS: dict[str, tuple[bytes, int, str, str, str]] = {
    "append-after-the-last-line": (b"one\ntwo\n", 2, "", "three\n", "one\ntwo\nthree\n"),
    "replace-the-last-line": (b"one\ntwo\n", 1, "two\n", "2\n", "one\n2\n"),
    "delete-the-last-line": (b"one\ntwo\n", 1, "two\n", "", "one\n"),
    "delete-everything": (b"one\ntwo\n", 0, "one\ntwo\n", "", "\n"),
    "replace-everything": (b"one\ntwo\n", 0, "one\ntwo\n", "1\n2\n3\n", "1\n2\n3\n"),
    "append-without-final-newline": (b"one\ntwo", 1, "two", "two\nthree", "one\ntwo\nthree"),
    "fill-an-empty-file": (b"", 0, "", "one\ntwo\n", "one\ntwo\n"),
    "append-with-crlf": (b"one\r\n", 1, "", "two\r\n", "one\r\ntwo\r\n"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_the_text_is_edited_like_any_other_place(
    editor: TestEditor, server: TestServer, path: Path, name: str
) -> None:
    content, line, old, new, expected = ENDS[name]
    open_file(editor, path, content)
    document = server.document(path)
    edit = document.edit(line, old, new)
    receipt = server.apply(server.change(document, [edit]))
    assert (receipt["status"], receipt["hash"]) == ("applied", text_hash(expected))
    assert document.text == expected
    editor.keys("u")
    assert until(lambda: text_hash(content.decode()) == current_hash(editor))


def test_neighbouring_ranges_at_the_end_are_edited_together(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path, "one\ntwo\nthree\n")
    document = server.document(path)
    edits = [document.edit(1, "two\n", "2\n"), document.edit(2, "three\n", "")]
    assert server.apply(server.change(document, edits))["status"] == "applied"
    assert editor.lines() == ["one", "2"]


def test_overlapping_ranges_are_refused(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path)
    document = server.document(path)
    edits = [document.edit(0, "one\ntwo", "x"), document.edit(1, "two", "y")]
    assert server.apply(server.change(document, edits))["status"] == "refused"
    assert editor.lines() == TEXT.splitlines()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_positions_are_read_in_the_encoding_that_the_server_chose(
    editor: TestEditor, server: TestServer, path: Path, encoding: str
) -> None:
    server.capabilities["positionEncoding"] = encoding
    open_file(editor, path, "a😀é two\n")
    wide = 2 if encoding == "utf-16" else 1
    start = 1 + wide + 2
    document = server.document(path)
    edit: dict[str, Any] = {
        "range": {"start": {"line": 0, "character": start}, "end": {"line": 0, "character": start + 3}},
        "old": "two",
        "newText": "zwei",
    }
    assert server.apply(server.change(document, [edit]))["status"] == "applied"
    assert editor.lines() == ["a😀é zwei"]


def test_an_edit_of_a_large_file_is_made(editor: TestEditor, server: TestServer, path: Path) -> None:
    line = "x" * 49 + "\n"
    open_file(editor, path, line * 100_000)
    document = server.document(path)
    began = time.monotonic()
    receipt = server.apply(server.change(document, [document.edit(50_000, line, "y\n")]))
    assert receipt["status"] == "applied"
    assert time.monotonic() - began < 10
    assert document.hash == receipt["hash"]


def test_a_file_over_the_limit_is_refused(editor: TestEditor, server: TestServer, path: Path) -> None:
    open_file(editor, path, ("x" * 99 + "\n") * 110_000)
    document = server.document(path)
    receipt = server.apply(server.change(document, [document.edit(0, "x", "y")]))
    assert receipt == {"status": "refused", "message": "the document is larger than 10 MB"}
