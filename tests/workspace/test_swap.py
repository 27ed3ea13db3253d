import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.paths import locate
from smith_server.workspace.swap import Mark, editor_marks, require_free

HOST = socket.gethostname()
NVIM = shutil.which("nvim") or str(Path(sys.executable).with_name("nvim"))


def swap_header(pid, host=HOST):
    header = b"b0VIM 8.2".ljust(24, b"\0") + pid.to_bytes(4, "little") + b"user".ljust(40, b"\0")
    return header + host.encode().ljust(40, b"\0") + b"/x\0".ljust(900, b"\0")


def marks(path, folder, **environment):
    found = editor_marks(path, {"HOME": str(folder / "home"), **environment})
    return [(mark.path.name, mark.editor, mark.pid, mark.living) for mark in found]


@contextmanager
def program_named(name, folder):
    """A process of a program that is called `name`."""
    program = folder / name
    shutil.copy(shutil.which("sleep"), program)
    with subprocess.Popen([program, "60"], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def dead():
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_a_file_that_nobody_holds_is_free(tmp_path):
    (tmp_path / "a.py").write_text("x")
    assert require_free(locate("a.py", tmp_path), {"HOME": str(tmp_path)}) == []


@pytest.mark.parametrize("name", [".a.py.swp", ".a.py.swo"])
def test_a_swap_file_beside_the_file_counts_while_its_vim_lives(name, tmp_path, dead):
    path = tmp_path / "a.py"
    with program_named("vim.basic", tmp_path) as pid:
        (tmp_path / name).write_bytes(swap_header(pid))
        assert marks(path, tmp_path) == [(name, "Vim", pid, True)]
        with pytest.raises(ToolRefusal) as caught:
            require_free(locate("a.py", tmp_path), {"HOME": "/"})
        assert caught.value.error.code == "held_by_editor"
        assert f"Vim, process {pid}" in caught.value.error.message
    (tmp_path / name).write_bytes(swap_header(dead))
    assert marks(path, tmp_path) == [(name, "Vim", dead, False)]
    assert [mark.path.name for mark in require_free(locate("a.py", tmp_path), {"HOME": "/"})] == [name]


def test_the_swap_file_of_a_hidden_file_has_one_dot(tmp_path, dead):
    (tmp_path / ".bashrc.swp").write_bytes(swap_header(dead))
    assert marks(tmp_path / ".bashrc", tmp_path) == [(".bashrc.swp", "Vim", dead, False)]


def test_swap_files_in_the_state_folder_of_neovim_are_found(tmp_path, dead):
    path = tmp_path / "a b" / "c.py"
    encoded = str(path).replace("/", "%") + ".swp"
    for folder in ("state/nvim/swap", "home/.local/state/nvim/swap", "state/mine/swap"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / encoded).write_bytes(swap_header(dead))
    state = str(tmp_path / "state")
    assert len(marks(path, tmp_path)) == 1
    assert len(marks(path, tmp_path, XDG_STATE_HOME=state)) == 1
    assert len(marks(path, tmp_path, XDG_STATE_HOME=state, NVIM_APPNAME="mine")) == 2


def test_a_lock_of_emacs_counts_while_its_process_lives(tmp_path, dead):
    path, lock = tmp_path / "a.py", tmp_path / ".#a.py"
    with program_named("emacs-29.1", tmp_path) as pid:
        lock.symlink_to(f"me@{HOST}.{pid}:1700000000")
        assert marks(path, tmp_path) == [(".#a.py", "Emacs", pid, True)]
    lock.unlink()
    lock.symlink_to(f"me@{HOST}.{dead}")
    assert marks(path, tmp_path) == [(".#a.py", "Emacs", dead, False)]
    lock.unlink()
    lock.write_text(f"me@{HOST}.{dead}:1\n")
    assert marks(path, tmp_path) == [(".#a.py", "Emacs", dead, False)]


def test_a_mark_of_another_machine_counts_since_nobody_can_ask_there(tmp_path, dead):
    (tmp_path / ".#a.py").symlink_to(f"me@elsewhere.example.{dead}:1")
    (tmp_path / ".a.py.swp").write_bytes(swap_header(dead, "elsewhere"))
    assert [living for *_, living in marks(tmp_path / "a.py", tmp_path)] == [True, True]


if sys.platform == "linux":

    def test_a_number_that_belongs_to_another_program_by_now_does_not_count(tmp_path):
        with program_named("gardener", tmp_path) as pid:
            (tmp_path / ".a.py.swp").write_bytes(swap_header(pid))
            assert marks(tmp_path / "a.py", tmp_path) == [(".a.py.swp", "Vim", pid, False)]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b"short"),
        lambda path: path.write_bytes(b"x" * 200),
        lambda path: path.write_bytes(swap_header(0)),
        os.mkfifo,
        Path.mkdir,
        lambda path: path.symlink_to("nowhere"),
    ],
    ids=["short", "other", "no-process", "pipe", "folder", "link"],
)
def test_what_only_looks_like_a_mark_holds_nothing(make, tmp_path):
    for name in (".a.py.swp", ".#a.py"):
        make(tmp_path / name)
    assert [living for *_, living in marks(tmp_path / "a.py", tmp_path) if living] == []


@pytest.mark.nvim
def test_a_real_neovim_holds_its_file_until_it_dies(tmp_path):
    (tmp_path / "a.py").write_text("x\n")
    (tmp_path / "link.py").symlink_to("a.py")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    command = [NVIM, "--headless", "--clean", "link.py"]
    place = locate("link.py", tmp_path)
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=subprocess.PIPE) as nvim:
        try:
            until(lambda: editor_marks(place.real, environment))
            [mark] = editor_marks(place.real, environment)
            assert mark == Mark(mark.path, "Vim", nvim.pid, HOST, True)
        finally:
            nvim.send_signal(signal.SIGKILL)
    assert [mark.living for mark in editor_marks(place.real, environment)] == [False]
