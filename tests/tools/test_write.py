import pytest

from smith_server.tools.read import Read
from smith_server.tools.write import Write
from smith_server.workspace.text import text_hash
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor
from tests.tools.calls import call, preview


@pytest.fixture
def editor():
    return FakeEditor()


@pytest.fixture
def texts(editor):
    return Texts(editor, environment={"HOME": "/nowhere"})


async def test_a_new_file_is_made_with_its_folders(texts, tmp_path):
    write = Write(texts)
    shown = await preview(write, tmp_path, path="sub/new.py", content="a\nb\n")
    assert shown.title == "sub/new.py (a new file)"
    assert shown.diff == "--- /dev/null\n+++ b/sub/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert not (tmp_path / "sub").exists()
    result = await call(write, tmp_path, path="sub/new.py", content="a\nb\n")
    assert (tmp_path / "sub/new.py").read_text() == "a\nb\n"
    assert result.content == "sub/new.py: created, 2 lines; hash " + text_hash("a\nb\n")
    assert (result.summary, result.touched) == ("+2 −0 (created)", (tmp_path / "sub/new.py",))


async def test_what_was_written_may_be_written_again(texts, tmp_path):
    write = Write(texts)
    await call(write, tmp_path, path="new.py", content="a\n")
    assert (await call(write, tmp_path, path="new.py", content="b\n")).ok
    assert (tmp_path / "new.py").read_text() == "b\n"


async def test_a_file_that_was_not_read_is_not_overwritten(texts, tmp_path):
    (tmp_path / "a.py").write_text("user\n")
    result = await call(Write(texts), tmp_path, path="a.py", content="x")
    assert (result.ok, result.code, (tmp_path / "a.py").read_text()) == (False, "hash_required", "user\n")


async def test_a_file_that_was_read_is_rewritten_in_its_own_style(texts, tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc")
    await call(Read(texts), tmp_path, path="a.py")
    result = await call(Write(texts), tmp_path, path="a.py", content="a\nB\nc\nd\n")
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\nB\r\nc\r\nd"
    assert result.content == "a.py: lines 2-4 changed, +1 line; hash " + text_hash("a\r\nB\r\nc\r\nd")


async def test_an_open_file_is_rewritten_with_small_hunks_in_its_buffer(texts, editor, tmp_path):
    path = tmp_path / "a.py"
    path.write_text("a\nb\nc\n")
    editor.buffers[path] = "a\nb\nc\n"
    await call(Read(texts), tmp_path, path="a.py")
    await call(Write(texts), tmp_path, path="a.py", content="a\nbee\nc\n")
    assert [(hunk.start, hunk.old, hunk.new) for hunk in editor.changes[0].hunks] == [(3, "", "ee")]
    assert path.read_text() == "a\nb\nc\n"


async def test_a_folder_is_no_place_for_a_file(texts, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").write_text("x")
    write = Write(texts)
    assert (await call(write, tmp_path, path="sub", content="x")).code == "is_directory"
    assert (await call(write, tmp_path, path="file/below", content="x")).code in ("not_a_directory", "file_exists")
    assert (await call(write, tmp_path, path="", content="x")).code == "invalid_path"
