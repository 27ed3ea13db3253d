import asyncio

import pytest

from smith_server.core.editor import Receipt
from smith_server.workspace.edits import ExactEdit, LineEdit, Rewrite
from smith_server.workspace.paths import locate
from smith_server.workspace.text import text_hash
from tests.fakes.editor import FakeEditor
from tests.workspace.drafts import TEN, code, refused, replace, texts_of


async def test_a_buffer_without_a_file_is_a_file_that_exists(tmp_path):
    place = locate("new.py", tmp_path)
    editor = FakeEditor({place.real: "typed\n"})
    texts = texts_of(editor)
    assert await code(texts.change(place, Rewrite("x"))) == "hash_required"
    await texts.read(place)
    await texts.change(place, ExactEdit("typed", "agent"))
    assert editor.buffers[place.real] == "agent\n"
    assert not place.real.exists()


@pytest.mark.parametrize(
    ("empty", "edit", "expected"),
    [
        ("\n", LineEdit("insert", 1, 1, "x"), "x\n"),
        ("", LineEdit("insert", 1, 1, "x"), "x\n"),
        ("\r\n", LineEdit("insert", 1, 1, "x\ny"), "x\r\ny\r\n"),
        ("\n", Rewrite("x"), "x\n"),
        ("\n", Rewrite("\n\nx\n"), "\n\nx\n"),
        ("\n", Rewrite(""), "\n"),
    ],
)
async def test_an_empty_buffer_is_an_empty_file_whatever_the_editor_calls_it(place, file, empty, edit, expected):
    editor = FakeEditor({file: empty})
    texts = texts_of(editor)
    view = await texts.read(place)
    assert view.text == ""
    await texts.change(place, edit, view.hash)
    assert editor.buffers[file] == expected


@pytest.mark.parametrize(
    ("encoding", "content", "code_of_it"),
    [
        ("utf-8", "ä → 😀", ""),
        ("latin1", "ä", ""),
        ("iso-latin-1-dos", "ä", ""),
        ("iso-latin-9-unix", "€", ""),
        ("utf-8-with-signature-unix", "→", ""),
        ("utf-16le", "😀", ""),
        ("windows-1252-dos", "€", ""),
        ("iso-latin-1-unix", "€", "unsupported_encoding"),
        ("undecided-unix", "→", ""),
        ("", "→", ""),
        ("latin1", "→", "unsupported_encoding"),
        ("us-ascii", "ä", "unsupported_encoding"),
        ("some-coding", "ascii", ""),
        ("some-coding", "ä", "unsupported_encoding"),
    ],
)
async def test_a_buffer_gets_only_what_its_encoding_can_hold(place, file, encoding, content, code_of_it):
    editor = FakeEditor({file: TEN}, encoding=encoding)
    texts = texts_of(editor)
    call = texts.change(place, replace(1, content), (await texts.read(place)).hash)
    if code_of_it:
        assert await code(call) == code_of_it
        assert editor.changes == []
    else:
        await call
        assert editor.buffers[file].startswith(content + "\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\0b\n", "binary_file"),
        ("a\ud800\n", "unsupported_encoding"),
        ("a\rb", "unsupported_line_ends"),
        ("x" * 200, "too_large"),
    ],
    ids=["nul", "surrogate", "cr", "large"],
)
async def test_buffers_that_editors_would_damage_are_refused(place, file, text, expected):
    texts = texts_of(FakeEditor({file: text}), most_bytes=100)
    assert await code(texts.change(place, replace(1, "x"), text_hash(text))) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("expired", "edit_expired"),
        ("read_only", "read_only"),
        ("refused", "edit_refused"),
        ("failed", "edit_failed"),
        ("withdrawn", "edit_withdrawn"),
        ("gone", "edit_failed"),
    ],
)
async def test_what_an_editor_did_not_do_is_not_called_done(place, file, status, expected):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor)
    view = await texts.read(place)
    editor.answer = Receipt(status, message="E21")
    error = await refused(texts.change(place, replace(1, "x"), view.hash))
    assert error.code == expected
    assert "E21" in error.message and "a.py was not changed" in error.message
    editor.answer = None
    await texts.change(place, replace(1, "x"), view.hash)
    assert editor.buffers[file].startswith("x\n")


async def test_a_buffer_that_was_closed_meanwhile_is_a_file_on_disk(place, file):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor)
    view = await texts.read(place)
    editor.before_apply = lambda: editor.close(file)
    await texts.change(place, replace(1, "x"), view.hash)
    assert file.read_bytes() == TEN.replace("line 1\n", "x\n").encode()


async def test_a_buffer_closed_without_saving_is_not_written_over_the_disk(place, file):
    editor = FakeEditor({file: "unsaved\n"})
    texts = texts_of(editor)
    view = await texts.read(place)
    editor.before_apply = lambda: editor.close(file)
    assert await code(texts.change(place, replace(1, "x"), view.hash)) == "hash_mismatch"
    assert file.read_bytes() == TEN.encode()


@pytest.mark.parametrize("applied", [True, False], ids=["applied", "lost"])
async def test_an_edit_without_an_answer_stops_others_until_the_file_is_read(place, file, applied):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor)
    view = await texts.read(place)
    editor.answer, editor.applies_anyway = Receipt("unknown"), applied
    assert await code(texts.change(place, replace(1, "x"), view.hash)) == "edit_unknown"
    editor.answer = None
    assert await code(texts.change(place, replace(2, "y"), view.hash)) == "unsettled"
    again = await texts.read(place)
    assert not again.changed
    await texts.change(place, replace(2, "y"), view.hash)
    first = "x" if applied else "line 1"
    assert editor.buffers[file].startswith(f"{first}\ny\nline 3\n")
    assert file.read_bytes() == TEN.encode()


@pytest.mark.parametrize(
    ("receipt", "code_of_next"), [(Receipt("applied"), ""), (Receipt("stale"), ""), (Receipt("unknown"), "unsettled")]
)
async def test_a_late_receipt_settles_it_as_well(place, file, receipt, code_of_next):
    editor = FakeEditor({file: TEN})
    texts = texts_of(editor)
    view = await texts.read(place)
    editor.answer, editor.applies_anyway = Receipt("unknown"), receipt.status == "applied"
    await code(texts.change(place, replace(1, "x"), view.hash))
    editor.answer = None
    texts.late_receipt(editor.changes[0].id, receipt)
    call = texts.change(place, replace(2, "y"), view.hash)
    if code_of_next:
        assert await code(call) == code_of_next
    else:
        await call
        assert editor.buffers[file].splitlines()[1] == "y"


async def test_a_call_that_is_cancelled_while_the_editor_thinks_leaves_the_file_unsettled(place, file):
    asked = asyncio.Event()

    class Slow(FakeEditor):
        async def apply(self, change):
            asked.set()
            await asyncio.Event().wait()

    texts = texts_of(Slow({file: TEN}))
    view = await texts.read(place)
    task = asyncio.create_task(texts.change(place, replace(1, "x"), view.hash))
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert await code(texts.change(place, replace(1, "x"), view.hash)) == "unsettled"


async def test_more_than_was_sent_is_told_and_not_called_known(place, file):
    class Formatting(FakeEditor):
        async def apply(self, change):
            await super().apply(change)
            self.type(file, self.buffers[file].upper())
            return Receipt("applied", hash=text_hash(self.buffers[file]))

    editor = Formatting({file: TEN})
    texts = texts_of(editor)
    plan = await texts.change(place, replace(1, "x"), (await texts.read(place)).hash)
    assert plan.hash == text_hash(editor.buffers[file])
    assert plan.notes == ("the buffer holds more than this edit by now: read the file again",)
    assert await code(texts.change(place, Rewrite("y"))) == "hash_required"
