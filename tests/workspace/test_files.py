import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.files import MOST_BYTES, read_file, require_writable
from smith_server.workspace.paths import locate
from tests.workspace.children import answer_of


def code_of(name, folder, **more):
    with pytest.raises(ToolRefusal) as caught:
        read_file(locate(name, folder), **more)
    return caught.value.error.code


def test_a_file_is_read_whole_through_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"a\0\xff")
    (tmp_path / "link").symlink_to("file")
    disk = read_file(locate("link", tmp_path))
    assert disk.data == b"a\0\xff"
    assert disk.stamp.inode == (tmp_path / "file").stat().st_ino


def test_things_that_are_no_files_are_named_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    (tmp_path / "link-to-fifo").symlink_to("fifo")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "file").write_text("x")
    names = [
        "fifo",
        "link-to-fifo",
        "socket",
        "/dev/zero",
        "folder",
        "broken",
        "missing",
        "file/below",
        "one",
        "n" * 300,
    ]
    assert {name[:12]: code_of(name, tmp_path) for name in names} == {
        "fifo": "not_regular_file",
        "link-to-fifo": "not_regular_file",
        "socket": "not_regular_file",
        "/dev/zero": "not_regular_file",
        "folder": "is_directory",
        "broken": "file_not_found",
        "missing": "file_not_found",
        "file/below": "file_not_found",
        "one": "link_loop",
        "n" * 12: "name_too_long",
    }


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10_000_000_000)
    assert code_of("sparse", tmp_path) == "too_large"


def test_a_file_at_the_limit_is_read_and_one_above_is_not(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 100)
    assert len(read_file(locate("file", tmp_path), 100).data) == 100
    assert code_of("file", tmp_path, most_bytes=99) == "too_large"
    assert MOST_BYTES == 10_000_000


if sys.platform == "linux":

    def test_a_file_of_proc_that_says_it_is_empty_is_read(tmp_path):
        assert b"Name:" in read_file(locate("/proc/self/status", tmp_path)).data


def test_a_name_with_a_newline_is_a_name(tmp_path):
    (tmp_path / "a\nb").write_bytes(b"x")
    disk = read_file(locate("a\nb", tmp_path))
    assert (disk.data, disk.place.name) == (b"x", "a\\nb")


def test_a_file_without_write_bits_is_not_written_by_root_either(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    path.chmod(0o444)
    with pytest.raises(ToolRefusal) as caught:
        require_writable(read_file(locate("file", tmp_path)))
    assert caught.value.error.code == "read_only"
    path.chmod(0o644)
    require_writable(read_file(locate("file", tmp_path)))


def test_an_unreadable_file_is_named():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "file").write_bytes(b"x")
        assert answer_of(lambda: code_or_text("file", folder), as_nobody=True) == "x"
        (folder / "file").chmod(0o000)
        assert answer_of(lambda: code_or_text("file", folder), as_nobody=True) == "permission_denied"


def code_or_text(name, folder):
    try:
        return read_file(locate(name, folder)).data.decode()
    except ToolRefusal as problem:
        return problem.error.code
