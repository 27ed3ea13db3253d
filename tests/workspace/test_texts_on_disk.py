import asyncio
import fcntl
import os

import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Cancelled
from smith_server.core.interrupt import interrupted_by
from smith_server.workspace.edits import LineEdit, Rewrite
from smith_server.workspace.paths import locate
from smith_server.workspace.text import text_hash
from tests.workspace.drafts import TEN, code, replace, texts_of, until


async def test_a_new_file_needs_no_hash_and_gets_exactly_its_content(tmp_path):
    place = locate("sub/new.py", tmp_path)
    plan = await texts_of().change(place, Rewrite("a\r\nb"))
    assert plan.created
    assert place.real.read_bytes() == b"a\r\nb"


async def test_a_new_file_may_begin_with_a_mark(tmp_path):
    place, texts = locate("new.py", tmp_path), texts_of()
    plan = await texts.change(place, Rewrite("\ufeffa\n"))
    assert place.real.read_bytes() == b"\xef\xbb\xbfa\n"
    assert plan.hash == (await texts.read(place)).hash


async def test_a_character_that_becomes_a_mark_is_hashed_as_the_next_read_will(place, file):
    file.write_bytes(b"a\n\xef\xbb\xbfb\n")
    texts = texts_of()
    plan = await texts.change(place, LineEdit("delete", 1, 1), (await texts.read(place)).hash)
    assert file.read_bytes() == b"\xef\xbb\xbfb\n"
    assert plan.hash == (await texts.read(place)).hash


async def test_an_empty_file_can_be_made(tmp_path):
    place = locate("new.py", tmp_path)
    assert (await texts_of().change(place, Rewrite(""))).created
    assert place.real.read_bytes() == b""


async def test_a_file_that_exists_by_then_is_not_overwritten(tmp_path):
    place, texts = locate("new.py", tmp_path), texts_of()
    assert (await texts.plan(place, Rewrite("agent"))).created
    place.real.write_bytes(b"user")
    assert await code(texts.change(place, Rewrite("agent"))) == "hash_required"
    assert place.real.read_bytes() == b"user"


async def test_a_write_with_the_hash_of_a_file_that_is_gone_makes_no_new_one(place, file):
    texts = texts_of()
    view = await texts.read(place)
    file.unlink()
    assert await code(texts.change(place, Rewrite("x"), view.hash)) == "file_not_found"
    assert await code(texts.change(place, replace(1, "x"), view.hash)) == "file_not_found"
    assert not file.exists()


async def test_a_write_that_has_begun_is_finished_and_told_when_the_turn_is_cancelled(place, file):
    texts, token = texts_of(), CancelToken()
    view = await texts.read(place)

    async def turn():
        async with interrupted_by(token):
            return await texts.change(place, replace(1, "x"), view.hash)

    folder = os.open(file.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    task = asyncio.create_task(turn())
    await until(lambda: list(file.parent.glob(".smith-*.tmp")))
    token.request()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    os.close(folder)
    assert (await task).hash == text_hash(file.read_text())
    assert file.read_bytes().startswith(b"x\n")


async def test_nothing_is_written_after_a_cancel(place, file):
    texts, token = texts_of(), CancelToken()
    view = await texts.read(place)

    async def turn():
        async with interrupted_by(token):
            return await texts.change(place, replace(1, "x"), view.hash)

    task = asyncio.create_task(turn())
    await asyncio.sleep(0)
    token.request()
    with pytest.raises(Cancelled):
        await task
    assert file.read_bytes() == TEN.encode()


async def test_a_file_that_another_editor_holds_is_not_written(place, file):
    (file.parent / ".#a.py").symlink_to("me@elsewhere.example.1:1")
    texts = texts_of()
    view = await texts.read(place)
    assert await code(texts.plan(place, replace(1, "x"), view.hash)) == "held_by_editor"
    (file.parent / ".#new.py").symlink_to("me@elsewhere.example.1:1")
    assert await code(texts.change(locate("new.py", file.parent), Rewrite("x"))) == "held_by_editor"
    assert file.read_bytes() == TEN.encode()


async def test_a_stale_lock_and_other_hard_links_are_told(place, file):
    header = b"b0VIM 8.2".ljust(24, b"\0") + (0).to_bytes(4, "little") + b"\0" * 80
    (file.parent / ".a.py.swp").write_bytes(header)
    (file.parent / "hard").hardlink_to(file)
    texts = texts_of()
    plan = await texts.change(place, replace(1, "x"), (await texts.read(place)).hash)
    assert plan.notes == (
        "stale lock of Vim ignored: .a.py.swp",
        "the file had other hard links; they keep the old text",
    )
    assert (file.parent / "hard").read_bytes() == TEN.encode()


async def test_leftovers_of_a_killed_write_go_with_the_next_one(place, file):
    (file.parent / ".smith-0123456789abcdef.tmp").write_bytes(b"left")
    texts = texts_of()
    await texts.change(place, replace(1, "x"), (await texts.read(place)).hash)
    assert [path.name for path in file.parent.iterdir()] == ["a.py"]


async def test_an_edit_without_effect_writes_nothing(place, file):
    inode = file.stat().st_ino
    texts = texts_of()
    plan = await texts.change(place, replace(1, "line 1"), (await texts.read(place)).hash)
    assert plan.is_nothing and plan.hash == text_hash(TEN)
    assert file.stat().st_ino == inode


async def test_an_edit_that_makes_a_file_too_large_is_refused(place, file):
    texts = texts_of(most_bytes=200)
    await texts.read(place)
    assert await code(texts.change(place, Rewrite("x" * 300))) == "too_large"


async def test_a_file_of_five_megabytes_is_edited_like_any_other(tmp_path):
    text = "".join(f"line {number} of a long file with some text in it\n" for number in range(100_000))
    (tmp_path / "big").write_text(text)
    place, texts = locate("big", tmp_path), texts_of()
    view = await texts.read(place)
    await texts.change(place, replace(50_001, "new"), view.hash)
    await texts.change(place, replace(99_999, "other"), view.hash)
    lines = (tmp_path / "big").read_text().split("\n")
    assert (lines[50_000], lines[99_998], len(lines)) == ("new", "other", 100_001)
