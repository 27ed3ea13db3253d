from pathlib import Path

import pytest

from tests.nvim.documents import text_hash
from tests.nvim.editor import TestEditor
from tests.nvim.server import TestServer, until

pytestmark = pytest.mark.nvim

TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def path(project: Path) -> Path:
    file = project / "a.txt"
    file.write_text(TEXT)
    return file


def opened(server: TestServer) -> set[str]:
    return {Path(uri.removeprefix("file://")).name for uri in server.documents}


def test_every_file_buffer_under_the_root_is_attached_however_it_was_opened(
    editor: TestEditor, server: TestServer, project: Path, tmp_path: Path
) -> None:
    for name in ("before", "hidden", "edited", "split", "loaded", "quiet", "entered", "sub/deep"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(name + "\n")
    (tmp_path / "outside").write_text("x\n")
    editor.nvim.command("set hidden | edit hidden | edit before")
    editor.start()
    assert until(lambda: opened(server) == {"before", "hidden"})
    editor.nvim.command("edit edited | split split | edit sub/deep | edit new | noautocmd edit quiet | edit before")
    editor.lua("vim.fn.bufload(vim.fn.bufadd('loaded'))")
    editor.lua("vim.api.nvim_buf_set_name(vim.api.nvim_create_buf(true, false), 'named')")
    editor.nvim.command(f"edit {tmp_path}/outside | new | setlocal buftype=nofile | file scratch")
    editor.nvim.command("help | terminal cat")
    wanted = {"before", "hidden", "edited", "split", "deep", "new", "loaded", "named"}
    assert until(lambda: opened(server) == wanted)
    editor.nvim.command("buffer quiet")
    assert until(lambda: opened(server) == {*wanted, "quiet"})


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("fileformat=dos", "one\r\ntwo\r\nthree\r\n"),
        ("noendofline", "one\ntwo\nthree"),
        ("bomb", TEXT),
        ("fileencoding=latin1", TEXT),
    ],
)
def test_an_option_that_changes_the_text_as_sent_sends_it_again(
    editor: TestEditor, server: TestServer, path: Path, option: str, text: str
) -> None:
    editor.edit(path)
    editor.start()
    first = server.document(path)
    editor.nvim.command(f"setlocal {option}")
    until(lambda: server.documents.get(path.as_uri()) not in (None, first))
    assert server.document(path).text == text
    editor.keys("ggxx")
    assert until(lambda: server.document(path).text == text[2:])


def test_a_buffer_that_is_read_again_is_sent_again(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.start()
    first = server.document(path)
    editor.keys("ddix<Esc>")
    editor.nvim.command("edit!")
    until(lambda: server.documents.get(path.as_uri()) not in (None, first))
    assert server.document(path).text == TEXT
    document = server.document(path)
    assert server.apply(server.change(document, [document.edit(0, "one", "1")]))["status"] == "applied"
    assert document.text == "1\ntwo\nthree\n"


def test_a_buffer_with_a_new_name_is_another_document(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.start()
    editor.nvim.command("saveas b.txt")
    assert until(lambda: opened(server) == {"b.txt"})
    document = server.document(path.with_name("b.txt"))
    assert server.apply(server.change(document, [document.edit(0, "one", "1")]))["status"] == "applied"
    assert document.text == "1\ntwo\nthree\n"


def test_a_file_opened_through_a_link_is_found_by_either_name(
    editor: TestEditor, server: TestServer, path: Path, project: Path
) -> None:
    link = project / "link.txt"
    link.symlink_to("a.txt")
    editor.edit(link)
    editor.start()
    document = server.document(link)
    answer = server.request("smith/readBuffer", {"uri": path.as_uri(), "real_path": str(path)})
    assert (answer["open"], answer["text"]) == (True, TEXT)
    change = server.change(document, [document.edit(0, "one", "1")], uri=path.as_uri())
    assert server.apply(change)["status"] == "applied"
    assert document.text == "1\ntwo\nthree\n"
    editor.nvim.command("write")
    assert link.is_symlink()
    assert path.read_text() == "1\ntwo\nthree\n"


def test_a_project_entered_through_a_link_has_its_buffers_attached(
    editor: TestEditor, server: TestServer, path: Path, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to("project")
    editor.nvim.command(f"edit {tmp_path}/way/a.txt")
    editor.start()
    assert until(lambda: opened(server) == {"a.txt"})


@pytest.mark.parametrize(
    ("content", "commands", "expected"),
    [
        (b"one\n", "", {"text": "one\n", "encoding": "utf-8", "eol": "lf", "bom": False, "final_newline": True}),
        (b"a\r\nb", "", {"text": "a\r\nb", "encoding": "utf-8", "eol": "crlf", "bom": False, "final_newline": False}),
        (b"\xef\xbb\xbf\xc3\xa9\n", "", {"text": "é\n", "encoding": "utf-8", "eol": "lf", "bom": True}),
        (b"\xe9\n", "", {"text": "é\n", "encoding": "latin1"}),
        (b"", "", {"text": "", "modified": False}),
        (b"one\n", "normal xx", {"text": "e\n", "modified": True}),
    ],
)
def test_a_buffer_is_read_with_what_travels_beside_its_text(
    editor: TestEditor, server: TestServer, path: Path, content: bytes, commands: str, expected: dict[str, object]
) -> None:
    path.write_bytes(content)
    editor.edit(path)
    editor.start()
    editor.nvim.command(commands)
    answer = server.request("smith/readBuffer", {"uri": path.as_uri()})
    assert answer["open"] is True
    assert {key: answer[key] for key in expected} == expected
    assert until(lambda: server.document(path).text in (answer["text"], "\n"))
    assert text_hash(answer["text"]) == server.document(path).hash
    assert answer["version"] == server.document(path).version


@pytest.mark.parametrize("content", [b"a\x00b\n", b"a\xffb\n"], ids=["nul", "not-utf-8"])
def test_a_buffer_that_is_no_unicode_text_is_open_and_not_read(
    editor: TestEditor, server: TestServer, path: Path, content: bytes
) -> None:
    raw = path.with_name("raw")
    raw.write_bytes(content)
    editor.edit(path)
    editor.start()
    editor.nvim.command(f"edit ++enc=utf-8 ++bad=keep {raw}")
    answer = server.request("smith/readBuffer", {"uri": raw.as_uri()})
    assert (answer["open"], answer["text"]) == (True, None)
    editor.edit(path)
    assert server.request("smith/readBuffer", {"uri": path.as_uri()})["text"] == TEXT


def save(server: TestServer, *paths: Path) -> list[tuple[str, str | None]]:
    answer = server.request("smith/saveBuffers", {"uris": [path.as_uri() for path in paths], "reason": "bash"})
    assert [result["uri"] for result in answer["results"]] == [path.as_uri() for path in paths]
    return [(result["status"], result.get("message")) for result in answer["results"]]


def test_buffers_are_saved_when_the_server_asks(editor: TestEditor, server: TestServer, path: Path) -> None:
    other = path.with_name("other.txt")
    other.write_text(TEXT)
    editor.nvim.command(f"set hidden | edit {path}")
    editor.start()
    editor.keys("ix<Esc>")
    editor.nvim.command(f"edit {other}")
    editor.keys("iy<Esc>")
    closed = path.with_name("closed")
    assert save(server, path, other, closed) == [
        ("saved", None),
        ("saved", None),
        ("refused", "no buffer visits this file"),
    ]
    assert (path.read_text(), other.read_text()) == ("x" + TEXT, "y" + TEXT)
    assert editor.nvim.current.buffer.name == str(other)
    assert save(server, path) == [("saved", None)]


def test_a_buffer_with_another_text_than_the_meant_one_is_not_saved(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    editor.edit(path)
    editor.start()
    editor.keys("ix<Esc>")
    question = {"uris": [path.as_uri()], "reason": "bash", "base_hashes": [text_hash(TEXT)]}
    assert server.request("smith/saveBuffers", question)["results"][0]["status"] == "stale"
    assert path.read_text() == TEXT
    question["base_hashes"] = [text_hash("x" + TEXT)]
    assert server.request("smith/saveBuffers", question)["results"][0]["status"] == "saved"
    assert path.read_text() == "x" + TEXT


def test_a_buffer_whose_file_changed_on_disk_is_not_saved_over_it(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    editor.edit(path)
    editor.start()
    editor.keys("ix<Esc>")
    path.write_text("from elsewhere\n")
    assert save(server, path) == [("refused", "the file on disk changed since it was read")]
    assert path.read_text() == "from elsewhere\n"
    editor.nvim.command("write!")
    editor.keys("iy<Esc>")
    assert save(server, path) == [("saved", None)]


def test_a_read_only_buffer_and_one_that_cannot_be_written_are_not_saved(
    editor: TestEditor, server: TestServer, path: Path, project: Path
) -> None:
    editor.edit(path)
    editor.start()
    editor.keys("ix<Esc>")
    editor.nvim.command("setlocal readonly")
    assert save(server, path) == [("refused", "the buffer is read-only")]
    lost = project / "gone" / "b.txt"
    editor.nvim.command(f"new {lost}")
    editor.keys("ix<Esc>")
    [(status, message)] = save(server, lost)
    assert (status, (message or "")[:4]) == ("refused", "E212")


def test_saving_waits_for_the_end_of_a_command(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.start()
    editor.keys("ix<Esc>V")
    editor.in_mode("V")
    answer = server.ask("smith/saveBuffers", {"uris": [path.as_uri()], "reason": "bash"})
    assert editor.mode()["mode"] == "V"
    assert not answer.done()
    editor.keys("<Esc>")
    assert answer.result(10)["results"][0]["status"] == "saved"


def changed(server: TestServer, *paths: Path) -> None:
    server.event("files_changed", paths=[str(path) for path in paths], modified=[])


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
@pytest.mark.parametrize("how", ["write", "replace"])
def test_an_unmodified_buffer_takes_a_change_on_disk_with_cursor_view_and_marks(
    editor: TestEditor, server: TestServer, path: Path, autoread: str, how: str
) -> None:
    lines = [f"line {number}" for number in range(1, 101)]
    path.write_text("\n".join(lines) + "\n")
    editor.nvim.command(f"set {autoread}")
    editor.edit(path)
    editor.start()
    editor.keys("60Gzt4lma:split<CR>20G:wincmd p<CR>70Gmb60G04l")
    new = ["first", *lines[:9], *lines[14:]]
    target = path if how == "write" else path.with_name("fresh")
    target.write_text("\n".join(new) + "\n")
    target.replace(path)
    changed(server, path)
    assert until(lambda: editor.lines() == new)
    places = """
        local seen = {}
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          seen[#seen + 1] = vim.api.nvim_win_call(win, function()
            return { vim.fn.getline('.'), vim.fn.col('.') }
          end)
        end
        seen[#seen + 1] = { vim.fn.getline("'a"), vim.fn.getline("'b") }
        seen[#seen + 1] = vim.fn.getline(vim.fn.winsaveview().topline)
        return seen
    """
    assert editor.lua(places) == [["line 20", 5], ["line 60", 5], ["line 60", "line 70"], "line 60"]
    assert not editor.option("modified")
    assert editor.nvim.options["autoread"] == (autoread == "autoread")
    assert until(lambda: server.document(path).text == "\n".join(new) + "\n")
    editor.keys("u")
    assert editor.lines() == lines
    assert editor.option("modified")
    editor.nvim.command("checktime | redo | write")
    assert path.read_text().splitlines() == new
    assert "W1" not in editor.messages()


def test_a_modified_buffer_keeps_its_text_when_the_file_changes(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    editor.edit(path)
    editor.start()
    editor.keys("ix<Esc>")
    path.write_text("from elsewhere\n")
    changed(server, path)
    until(lambda: "your unsaved text is kept" in editor.messages())
    assert editor.lines() == ["xone", "two", "three"]
    assert editor.lua("return vim.b.smith_conflict") is True


def test_a_buffer_is_not_read_again_while_a_command_is_typed(
    editor: TestEditor, server: TestServer, path: Path
) -> None:
    editor.edit(path)
    editor.start()
    editor.keys("GV")
    editor.in_mode("V")
    path.write_text("zero\n" + TEXT)
    changed(server, path)
    server.request("smith/readBuffer", {"uri": path.as_uri()})
    assert editor.lines() == TEXT.splitlines()
    editor.keys("<Esc>")
    assert until(lambda: editor.lines() == ["zero", *TEXT.splitlines()])
    editor.keys("dd")
    assert editor.lines() == ["zero", "one", "two"]


def test_a_file_that_appears_under_an_empty_buffer_is_read(
    editor: TestEditor, server: TestServer, project: Path
) -> None:
    new = project / "new.txt"
    editor.edit(new)
    editor.start()
    new.write_text("made by a command\n")
    changed(server, new)
    assert until(lambda: editor.lines() == ["made by a command"])
    assert editor.nvim.command_output("checktime") == ""


def test_a_file_that_disappears_leaves_its_buffer(editor: TestEditor, server: TestServer, path: Path) -> None:
    editor.edit(path)
    editor.start()
    path.unlink()
    changed(server, path)
    server.request("smith/readBuffer", {"uri": path.as_uri()})
    assert editor.lines() == TEXT.splitlines()
    assert not editor.mode()["blocking"]
