import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.tools.edit import Edit
from smith_server.tools.read import Read
from smith_server.workspace.text import text_hash
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor
from tests.tools.calls import call, preview

TEXT = "".join(f"line {number}\n" for number in range(1, 9))


@pytest.fixture
def editor():
    return FakeEditor()


@pytest.fixture
def texts(editor):
    return Texts(editor, environment={"HOME": "/nowhere"})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    return path


async def test_lines_are_replaced_on_disk_and_shown_as_they_are_now(texts, path, tmp_path):
    result = await call(
        Edit(texts),
        tmp_path,
        path="a.py",
        hash=text_hash(TEXT),
        operation="replace",
        start_line=3,
        end_line=4,
        content="x\ny\nz",
    )
    now = TEXT.replace("line 3\nline 4\n", "x\ny\nz\n")
    assert path.read_text() == now
    assert result.content == (
        f"a.py: lines 3-5 changed, +1 line; hash {text_hash(now)}\n"
        "1\tline 1\n2\tline 2\n3\tx\n4\ty\n5\tz\n6\tline 5\n7\tline 6"
    )
    assert (result.ok, result.summary, result.mutation, result.touched) == (
        True,
        "+3 −2 (on disk)",
        "attempted",
        (path,),
    )
    assert result.diff.startswith("--- a/a.py\n+++ b/a.py\n@@ -1,7 +1,8 @@\n line 1\n line 2\n-line 3\n-line 4\n+x\n")


async def test_an_open_file_is_changed_in_the_editor_and_nothing_was_touched_on_disk(texts, editor, path, tmp_path):
    editor.buffers[path] = TEXT
    result = await call(
        Edit(texts), tmp_path, path="a.py", hash=text_hash(TEXT), operation="insert", start_line=9, content="end"
    )
    assert editor.buffers[path] == TEXT + "end\n"
    assert path.read_text() == TEXT
    assert result.content.startswith("a.py: line 9 changed, +1 line in the editor's buffer, not saved; hash ")
    assert (result.summary, result.touched) == ("+1 −0 (buffer, not saved)", ())
    assert editor.changes[0].label == "edit a.py"


async def test_one_line_is_meant_when_no_end_is_given(texts, path, tmp_path):
    result = await call(Edit(texts), tmp_path, path="a.py", hash=text_hash(TEXT), operation="delete", start_line=2)
    assert path.read_text() == TEXT.replace("line 2\n", "")
    assert result.content.startswith("a.py: lines removed at 2, -1 line; hash ")


async def test_an_edit_that_changes_nothing_says_so(texts, path, tmp_path):
    result = await call(
        Edit(texts), tmp_path, path="a.py", hash=text_hash(TEXT), operation="replace", start_line=2, content="line 2"
    )
    assert result.content == f"a.py: nothing to change, the text is so already; hash {text_hash(TEXT)}"
    assert (result.mutation, result.touched, result.diff, result.summary) == ("none", (), "", "no change")


async def test_a_stale_edit_is_a_result_that_lets_the_model_go_on(texts, editor, path, tmp_path):
    editor.buffers[path] = TEXT
    read, edit = Read(texts), Edit(texts)
    await call(read, tmp_path, path="a.py")
    editor.type(path, TEXT.replace("line 5", "line five"))
    arguments = {"path": "a.py", "operation": "replace", "start_line": 5, "content": "x"}
    result = await call(edit, tmp_path, hash=text_hash(TEXT), **arguments)
    assert not result.ok and result.code == "hash_mismatch"
    assert result.content == (
        "hash_mismatch: a.py is not the text of that hash any more. Nothing was changed. "
        f"It has hash {text_hash(editor.buffers[path])} now; look at the current lines and try again.\n\n"
        "2\tline 2\n3\tline 3\n4\tline 4\n5\tline five\n6\tline 6\n7\tline 7\n8\tline 8"
    )
    assert result.summary == "a.py was changed meanwhile; nothing was changed."
    assert "line five" in editor.buffers[path]
    assert (await call(edit, tmp_path, hash=text_hash(editor.buffers[path]), **arguments)).ok


async def test_edits_of_one_reply_share_the_hash_of_one_read(texts, path, tmp_path):
    edit = Edit(texts)
    await call(Read(texts), tmp_path, path="a.py")
    shared = {"path": "a.py", "hash": text_hash(TEXT)}
    await call(edit, tmp_path, **shared, operation="insert", start_line=1, content="top\ntop")
    await call(edit, tmp_path, **shared, operation="replace", start_line=8, content="last")
    assert path.read_text() == "top\ntop\n" + TEXT.replace("line 8", "last")


async def test_a_rebased_edit_says_that_lines_have_moved(editor, path, tmp_path):
    editor.buffers[path] = TEXT
    texts = Texts(editor, rebase=True, environment={"HOME": "/nowhere"})
    await call(Read(texts), tmp_path, path="a.py")
    editor.type(path, "typed\n" + TEXT)
    result = await call(
        Edit(texts), tmp_path, path="a.py", hash=text_hash(TEXT), operation="replace", start_line=5, content="x"
    )
    assert "\n[the user changed other lines since you read it: line numbers have moved]\n" in result.content
    assert "6\tx\n" in result.content


async def test_a_long_edit_is_shown_in_part(texts, path, tmp_path):
    result = await call(
        Edit(texts), tmp_path, path="a.py", hash=text_hash(TEXT), operation="insert", start_line=5, content="x\n" * 100
    )
    assert len(result.content.splitlines()) == 17


async def test_the_preview_shows_the_diff_and_touches_nothing(texts, editor, path, tmp_path):
    editor.buffers[path] = TEXT
    shown = await preview(
        Edit(texts), tmp_path, path="a.py", hash=text_hash(TEXT), operation="replace", start_line=1, content="x"
    )
    assert shown.title == "a.py"
    assert shown.diff == "--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,4 @@\n-line 1\n+x\n line 2\n line 3\n line 4\n"
    assert (editor.buffers[path], path.read_text(), editor.changes) == (TEXT, TEXT, [])


async def test_the_preview_refuses_what_would_be_refused(texts, path, tmp_path):
    with pytest.raises(ToolRefusal) as caught:
        await preview(Edit(texts), tmp_path, path="a.py", hash="0" * 16, operation="delete", start_line=1)
    assert caught.value.error.code == "hash_mismatch"


async def test_a_link_that_leads_elsewhere_after_it_was_shown_is_not_written_through(texts, path, tmp_path):
    (tmp_path / "other.py").write_text(TEXT)
    (tmp_path / "link").symlink_to("a.py")
    edit = Edit(texts)
    arguments = {"path": "link", "hash": text_hash(TEXT), "operation": "replace", "start_line": 1, "content": "x"}
    assert (await preview(edit, tmp_path, **arguments)).title == "link (a link to a.py)"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("other.py")
    assert (await call(edit, tmp_path, **arguments)).code == "target_changed"
    assert (path.read_text(), (tmp_path / "other.py").read_text()) == (TEXT, TEXT)


async def test_a_file_that_changed_after_it_was_shown_is_not_written(texts, path, tmp_path):
    edit = Edit(texts)
    arguments = {"path": "a.py", "hash": text_hash(TEXT), "operation": "replace", "start_line": 1, "content": "x"}
    await preview(edit, tmp_path, **arguments)
    path.write_text("theirs\n")
    assert (await call(edit, tmp_path, **arguments)).code == "hash_mismatch"
    assert path.read_text() == "theirs\n"


async def test_what_was_shown_long_ago_is_forgotten(texts, path, tmp_path):
    edit = Edit(texts)
    arguments = {"path": "a.py", "hash": text_hash(TEXT), "operation": "replace", "start_line": 1, "content": "x"}
    for number in range(100):
        await preview(edit, tmp_path, f"call {number}", **arguments)
    assert (await call(edit, tmp_path, "call 0", **arguments)).ok
