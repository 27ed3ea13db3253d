import fcntl
import os
import resource
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.atomic import create_file, remove_leftovers, replace_file
from smith_server.workspace.files import read_file
from smith_server.workspace.paths import locate
from tests.workspace.children import answer_of, killed_at


def code_of(call, *args):
    try:
        call(*args)
    except ToolRefusal as problem:
        return problem.error.code
    return ""


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(os.path.realpath(name))


def test_a_file_is_replaced_with_its_mode_and_behind_its_link(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o6751)
    (tmp_path / "link").symlink_to("file")
    replace_file(read_file(locate("link", tmp_path)), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o6751
    assert files_in(tmp_path) == ["file", "link"]


def test_attributes_of_the_file_survive(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    if hasattr(os, "setxattr"):
        os.setxattr(path, "user.note", b"kept")
    replace_file(read_file(locate("file", tmp_path)), b"new")
    assert path.read_bytes() == b"new"
    assert not hasattr(os, "setxattr") or os.getxattr(path, "user.note") == b"kept"


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before = read_file(locate("file", tmp_path))
    path.write_bytes(b"theirs")
    assert code_of(replace_file, before, b"new") == "hash_mismatch"
    path.write_bytes(b"ths")
    assert code_of(replace_file, before, b"new") == "hash_mismatch"
    assert path.read_bytes() == b"ths"
    assert files_in(tmp_path) == ["file"]


def test_a_file_that_was_only_touched_or_written_again_is_the_same(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before = read_file(locate("file", tmp_path))
    path.unlink()
    path.write_bytes(b"old")
    os.utime(path, (1, 1))
    replace_file(before, b"new")
    assert path.read_bytes() == b"new"


def swap_for_link(path):
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def swap_folder_for_link(path):
    path.parent.rename(path.parent.with_name("other"))
    path.parent.symlink_to("other")


@pytest.mark.parametrize(
    ("swap", "code"),
    [
        (Path.unlink, "file_not_found"),
        (swap_for_link, "target_changed"),
        (swap_folder_for_link, "target_changed"),
        (lambda path: (path.unlink(), path.mkdir()), "is_directory"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "not_regular_file"),
    ],
    ids=["deleted", "link", "folder-link", "folder", "pipe"],
)
def test_what_became_something_else_is_not_written(swap, code, tmp_path):
    path = tmp_path / "sub" / "file"
    path.parent.mkdir()
    path.write_bytes(b"old")
    before = read_file(locate("sub/file", tmp_path))
    swap(path)
    assert code_of(replace_file, before, b"new") == code
    assert b"new" not in [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()]
    assert not list(tmp_path.rglob(".smith*"))


def test_a_new_file_gets_its_folders_and_the_rights_that_the_user_gives(tmp_path):
    old = os.umask(0o027)
    try:
        create_file(locate("a/b/new", tmp_path), b"text")
    finally:
        os.umask(old)
    assert (tmp_path / "a/b/new").read_bytes() == b"text"
    assert stat.S_IMODE((tmp_path / "a/b/new").stat().st_mode) == 0o640
    assert files_in(tmp_path / "a/b") == ["new"]


def test_a_new_file_never_takes_the_place_of_another(tmp_path):
    (tmp_path / "file").write_bytes(b"theirs")
    (tmp_path / "hung").symlink_to("nowhere")
    place = locate("file", tmp_path)
    assert code_of(create_file, place, b"new") == "file_exists"
    assert (tmp_path / "file").read_bytes() == b"theirs"
    assert code_of(create_file, locate("file/below", tmp_path), b"new") in ("not_a_directory", "file_exists")


def test_a_new_file_behind_a_broken_link_is_made_where_the_link_leads(tmp_path):
    (tmp_path / "link").symlink_to("target")
    create_file(locate("link", tmp_path), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_of_writers_that_saw_the_same_file_one_wins(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    before = read_file(locate("file", tmp_path))
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda number: code_of(replace_file, before, b"new %d" % number), range(24)))
    assert sorted(codes) == ["", *["hash_mismatch"] * 23]
    assert (tmp_path / "file").read_bytes() == b"new %d" % codes.index("")


def test_of_writers_of_a_new_file_one_wins(tmp_path):
    place = locate("file", tmp_path)
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda number: code_of(create_file, place, b"new %d" % number), range(24)))
    assert sorted(codes) == ["", *["file_exists"] * 23]
    assert (tmp_path / "file").read_bytes() == b"new %d" % codes.index("")


def test_a_kill_at_any_step_leaves_the_old_bytes_or_the_new_ones(tmp_path):
    path = tmp_path / "file"
    seen = []
    while True:
        path.unlink(missing_ok=True)
        path.write_bytes(b"old")
        path.chmod(0o640)
        before = read_file(locate("file", tmp_path))
        killed = killed_at(len(seen) + 1, lambda before=before: replace_file(before, b"new text"))
        remove_leftovers(tmp_path)
        assert files_in(tmp_path) == ["file"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        seen.append(path.read_bytes())
        if not killed:
            break
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {b"old", b"new text"}
    assert len(seen) > 10


def test_a_kill_while_a_file_is_made_leaves_none_or_all_of_it(tmp_path):
    seen = []
    while True:
        folder = tmp_path / str(len(seen))
        folder.mkdir()
        place = locate("new", folder)
        killed = killed_at(len(seen) + 1, lambda place=place: create_file(place, b"all of it"))
        remove_leftovers(folder)
        seen.append({path.name: path.read_bytes() for path in folder.iterdir()})
        if not killed:
            break
    assert all(state in ({}, {"new": b"all of it"}) for state in seen)
    assert seen[0] == {} and seen[-1]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    before = read_file(locate("file", tmp_path))

    def without_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        return code_of(replace_file, before, b"x" * 100) + code_of(create_file, locate("new", tmp_path), b"x" * 100)

    assert answer_of(without_room) == "disk_full" * 2
    assert files_in(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_leftovers_are_removed_when_their_writer_is_dead(tmp_path):
    for name in (".smith-0123456789abcdef.tmp", ".smith-fedcba9876543210.tmp", ".smith-notours.tmp"):
        (tmp_path / name).write_bytes(b"left")
    with (tmp_path / ".smith-fedcba9876543210.tmp").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert [path.name for path in remove_leftovers(tmp_path)] == [".smith-0123456789abcdef.tmp"]
    assert files_in(tmp_path) == [".smith-fedcba9876543210.tmp", ".smith-notours.tmp"]
    assert remove_leftovers(tmp_path / "missing") == []


def test_a_folder_that_cannot_be_written_is_named(folder):
    (folder / "sub").mkdir()
    (folder / "sub/file").write_bytes(b"old")
    (folder / "sub/file").chmod(0o666)
    (folder / "sub").chmod(0o755 if os.getuid() == 0 else 0o555)
    before = read_file(locate("sub/file", folder))
    said = answer_of(lambda: code_of(replace_file, before, b"new"), as_nobody=True)
    (folder / "sub").chmod(0o755)
    assert said == "permission_denied"


if os.getuid() == 0:

    def test_a_file_of_somebody_else_stays_theirs(folder):
        (folder / "file").write_bytes(b"old")
        (folder / "file").chmod(0o666)
        before = read_file(locate("file", folder))
        assert answer_of(lambda: code_of(replace_file, before, b"new"), as_nobody=True) == "owner_differs"
        os.chown(folder / "file", 65534, 65534)
        replace_file(read_file(locate("file", folder)), b"new")
        assert ((folder / "file").stat().st_uid, (folder / "file").read_bytes()) == (65534, b"new")
