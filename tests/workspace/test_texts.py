import pytest

from smith_server.core.editor import Hunk
from smith_server.workspace.edits import ExactEdit, LineEdit, Rewrite
from smith_server.workspace.text import text_hash
from smith_server.workspace.texts import View
from tests.fakes.editor import FakeEditor
from tests.workspace.drafts import TEN, code, refused, replace, texts_of


async def test_a_closed_file_is_read_from_disk(place, file):
    assert await texts_of().read(place) == View(place, TEN, text_hash(TEN), "disk", "utf-8")


async def test_an_open_file_is_read_as_the_person_sees_it(place, file):
    editor = FakeEditor({file: TEN})
    editor.type(file, "typed\n")
    assert await texts_of(editor).read(place) == View(
        place, "typed\n", text_hash("typed\n"), "buffer", "utf-8", differs=True
    )


async def test_an_open_file_is_found_under_another_name(place, file, tmp_path):
    (tmp_path / "hard").hardlink_to(file)
    editor = FakeEditor({tmp_path / "hard": "typed\n"})
    assert (await texts_of(editor).read(place)).text == "typed\n"


async def test_a_second_read_says_whether_somebody_else_changed_the_text(place, file):
    texts = texts_of()
    await texts.read(place)
    assert not (await texts.read(place)).changed
    file.write_bytes(b"other\n")
    assert (await texts.read(place)).changed
    await texts.change(place, ExactEdit("other", "own"))
    assert not (await texts.read(place)).changed


@pytest.mark.parametrize(
    ("data", "encoding", "why"),
    [
        (b"caf\xe9\n", "latin-1", "unsupported_encoding"),
        (b"\xff\xfea\0\n\0", "utf-16-le", "unsupported_encoding"),
        (b"one\rtwo\r", "utf-8", "unsupported_line_ends"),
    ],
    ids=["latin1", "utf16", "cr"],
)
async def test_some_files_can_only_be_read(place, file, data, encoding, why):
    file.write_bytes(data)
    texts = texts_of()
    view = await texts.read(place)
    assert (view.encoding, view.read_only) == (encoding, why)
    assert await code(texts.change(place, replace(1, "x"), view.hash)) == why
    assert await code(texts.change(place, Rewrite("x"))) == why
    assert file.read_bytes() == data


async def test_a_binary_file_is_not_even_read(place, file):
    file.write_bytes(b"a\0b")
    assert await code(texts_of().read(place)) == "binary_file"


async def test_an_edit_of_an_open_file_goes_to_the_buffer_and_leaves_the_disk(place, file):
    editor = FakeEditor({file: TEN})
    editor.type(file, "typed\n" + TEN)
    texts = texts_of(editor)
    view = await texts.read(place)
    plan = await texts.change(place, replace(3, "line 2 new"), view.hash, "edit a.py")
    assert editor.buffers[file] == "typed\n" + TEN.replace("line 2\n", "line 2 new\n")
    assert file.read_bytes() == TEN.encode()
    [change] = editor.changes
    assert (change.path, change.base_hash, change.hunks, change.label) == (
        file,
        view.hash,
        (Hunk(19, "", " new"),),
        "edit a.py",
    )
    assert plan.hash == text_hash(editor.buffers[file])


async def test_an_edit_of_a_closed_file_goes_to_the_disk(place, file):
    texts = texts_of()
    plan = await texts.change(place, replace(1, "first"), (await texts.read(place)).hash)
    assert file.read_bytes() == TEN.replace("line 1\n", "first\n").encode()
    assert plan.hash == text_hash(file.read_text())


@pytest.mark.parametrize(
    "edit", [replace(1, "x"), ExactEdit("line 1\n", "x\n"), Rewrite("x\n")], ids=["edit", "replace", "write"]
)
async def test_a_file_that_was_not_read_is_not_changed_without_a_hash(place, file, edit):
    assert await code(texts_of().change(place, edit)) == "hash_required"
    assert await code(texts_of(FakeEditor({file: TEN})).change(place, edit)) == "hash_required"
    assert file.read_bytes() == TEN.encode()


async def test_line_edits_need_their_hash_even_after_a_read(place):
    texts = texts_of()
    await texts.read(place)
    assert await code(texts.change(place, replace(1, "x"))) == "hash_required"


async def test_replace_and_write_take_the_hash_of_the_last_read_or_own_edit(place, file):
    texts = texts_of()
    await texts.read(place)
    await texts.change(place, ExactEdit("line 1\n", "one\n"))
    await texts.change(place, ExactEdit("line 2\n", "two\n"))
    await texts.change(place, Rewrite("all new\n"))
    assert file.read_bytes() == b"all new\n"


async def test_two_conversations_do_not_know_what_the_other_one_read(place):
    editor = FakeEditor()
    await texts_of(editor).read(place)
    assert await code(texts_of(editor).change(place, Rewrite("x"))) == "hash_required"


async def test_several_edits_may_share_the_hash_and_the_lines_of_one_read(place, file):
    texts = texts_of()
    view = await texts.read(place)
    await texts.change(place, replace(2, "two\nand a half"), view.hash)
    await texts.change(place, LineEdit("insert", 9, 9, "before nine"), view.hash)
    await texts.change(place, LineEdit("delete", 5, 6), view.hash)
    await texts.change(place, LineEdit("insert", 11, 11, "end"), view.hash)
    await texts.change(place, LineEdit("insert", 11, 11, "very end"), view.hash)
    assert file.read_text() == (
        "line 1\ntwo\nand a half\nline 3\nline 4\nline 7\nline 8\nbefore nine\nline 9\nline 10\nend\nvery end\n"
    )


async def test_lines_that_an_own_edit_changed_are_not_edited_by_their_old_numbers(place, file):
    texts = texts_of()
    view = await texts.read(place)
    await texts.change(place, replace(2, "two\nand a half"), view.hash)
    error = await refused(texts.change(place, replace(1, "x", 2), view.hash))
    assert error.code == "hash_mismatch"
    assert "An edit of your own" in error.message
    assert error.data["current"].startswith("1\tline 1\n2\ttwo\n3\tand a half\n")


@pytest.mark.parametrize("is_open", [True, False], ids=["buffer", "disk"])
async def test_a_stale_edit_is_refused_and_shows_the_current_lines(place, file, is_open):
    editor = FakeEditor({file: TEN} if is_open else {})
    texts = texts_of(editor)
    view = await texts.read(place)
    theirs = "top\n" + TEN.replace("line 8\n", "line 8 user\n")
    if is_open:
        editor.type(file, theirs)
    else:
        file.write_bytes(theirs.encode())
    error = await refused(texts.change(place, replace(8, "x"), view.hash))
    assert error.code == "hash_mismatch"
    assert text_hash(theirs) in error.message
    assert error.data["current"] == ("6\tline 5\n7\tline 6\n8\tline 7\n9\tline 8 user\n10\tline 9\n11\tline 10")
    assert await code(texts.change(place, ExactEdit("line 8\n", "x\n"))) == "hash_mismatch"
    assert await code(texts.change(place, Rewrite("x"))) == "hash_mismatch"
    assert (editor.buffers.get(file) or file.read_text()) == theirs
    await texts.change(place, replace(9, "x"), text_hash(theirs))
    assert (editor.buffers.get(file) or file.read_text()) == theirs.replace("line 8 user", "x")


async def test_a_refusal_to_write_all_does_not_tell_a_hash_that_lets_it_through(place, file):
    texts = texts_of()
    await texts.read(place)
    file.write_bytes(b"theirs\n" + TEN.encode())
    error = await refused(texts.change(place, Rewrite("x")))
    assert error.data["current"].startswith("1\ttheirs\n2\tline 1\n")
    assert text_hash("theirs\n" + TEN) not in error.message


async def test_a_path_recovers_from_a_conflict_with_the_next_read(place, file):
    texts = texts_of()
    await texts.read(place)
    file.write_bytes(TEN.replace("line 9", "nine").encode())
    assert await code(texts.change(place, ExactEdit("line 5", "five"))) == "hash_mismatch"
    for number in (5, 6, 7):
        view = await texts.read(place)
        await texts.change(place, replace(number, f"own {number}"), view.hash)
    file.touch()
    file.write_bytes(file.read_bytes())
    await texts.change(place, ExactEdit("line 8", "own 8"))
    assert file.read_text() == "line 1\nline 2\nline 3\nline 4\nown 5\nown 6\nown 7\nown 8\nnine\nline 10\n"


async def test_what_is_typed_in_the_last_moment_is_safe(place, file):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor)
    view = await texts.read(place)
    editor.before_apply = lambda: editor.type(file, TEN + "typed\n")
    error = await refused(texts.change(place, replace(10, "x"), view.hash))
    assert error.code == "hash_mismatch"
    assert "11\ttyped" in error.data["current"]
    assert editor.buffers[file] == TEN + "typed\n"


async def test_a_stale_edit_of_other_lines_is_rebased_when_that_is_on(place, file):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor, rebase=True)
    view = await texts.read(place)
    editor.type(file, "top\n" + TEN.replace("line 3\n", "line 3 user\n"))
    plan = await texts.change(place, replace(8, "eight"), view.hash)
    assert (plan.rebased, plan.made.first) == (True, 9)
    assert editor.buffers[file] == "top\n" + TEN.replace("line 3\n", "line 3 user\n").replace("line 8\n", "eight\n")
    assert await code(texts.change(place, replace(3, "x"), view.hash)) == "hash_mismatch"
    assert await code(texts.change(place, Rewrite("x"), view.hash)) == "hash_mismatch"


async def test_a_file_that_was_rebased_does_not_count_as_known(place, file):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor, rebase=True)
    await texts.read(place)
    editor.type(file, "top\n" + TEN)
    plan = await texts.change(place, ExactEdit("line 8", "eight"))
    assert await code(texts.change(place, Rewrite("x"))) == "hash_required"
    assert await code(texts.change(place, ExactEdit("line 9", "x"))) == "hash_required"
    await texts.change(place, replace(10, "nine"), plan.hash)
    await texts.read(place)
    await texts.change(place, Rewrite("x"))
    assert editor.buffers[file] == "x\n"


async def test_a_change_by_an_own_hook_counts_as_an_own_edit(place, file):
    texts = texts_of()
    view = await texts.read(place)
    await texts.change(place, replace(2, "two  "), view.hash)
    file.write_bytes(file.read_bytes().replace(b"two  ", b"two").replace(b"line 9\n", b""))
    assert await texts.adopt(place) == text_hash(file.read_text())
    await texts.change(place, replace(5, "five"), view.hash)
    await texts.change(place, ExactEdit("line 8", "eight"))
    assert file.read_text() == "line 1\ntwo\nline 3\nline 4\nfive\nline 6\nline 7\neight\nline 10\n"


async def test_a_file_that_was_never_had_is_not_adopted(place):
    texts = texts_of()
    await texts.adopt(place)
    assert await code(texts.change(place, Rewrite("x"))) == "hash_required"


async def test_a_plan_touches_nothing(place, file):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor)
    view = await texts.read(place)
    plan = await texts.plan(place, replace(1, "x"), view.hash)
    assert plan.made.text.startswith("x\n")
    assert (editor.changes, editor.buffers[file]) == ([], TEN)
    assert file.read_bytes() == TEN.encode()
