"""The main job in a real Neovim, against a model server written by somebody else."""

import os
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from smith_server.workspace.text import text_hash
from tests.e2e.neovim import Neovim, until
from tests.e2e.processes import living
from tests.e2e.world import REPOSITORY, World

pytestmark = pytest.mark.nvim

TEXT = "".join(f"line {number}\n" for number in range(1, 61))


@pytest.fixture
def nvim(world: World) -> Iterator[Neovim]:
    running = Neovim(world)
    yield running
    running.close()


@pytest.fixture
def auto(world: World, model: LLMock) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.use(model)


def told(model: LLMock) -> list[str]:
    """The tool results that the last request carries."""
    return [message["content"] for message in model.last_request.body["messages"] if message["role"] == "tool"]


def view(nvim: Neovim) -> Any:
    return nvim.lua("return vim.fn.winsaveview()")


@pytest.mark.usefixtures("auto")
def test_an_edit_lands_in_an_unsaved_buffer_as_one_undo_step(world: World, model: LLMock, nvim: Neovim) -> None:
    path = world.file("a.py", TEXT)
    buffer = nvim.edit(path)
    nvim.keys("30Gcwmine, not saved<Esc>40Gzt5l")
    unsaved = nvim.text(buffer) + "\n"
    assert "mine, not saved 30" in unsaved
    before, undo = view(nvim), nvim.lua("return vim.fn.undotree().seq_cur")
    model.call_tool("read", {"path": "a.py"})
    edit = {"operation": "replace", "start_line": 35, "end_line": 35, "content": "agent\nlines", "path": "a.py"}
    model.call_tool("edit", {**edit, "hash": text_hash(unsaved)})
    model.reply("All done.")
    nvim.send("change line 35")
    nvim.shows("All done.")
    after = unsaved.replace("line 35\n", "agent\nlines\n")
    assert nvim.text(buffer) + "\n" == after
    assert path.read_text() == TEXT
    results = told(model)
    assert "mine, not saved 30" in results[0]
    assert text_hash(after) in results[1]
    moved = view(nvim)
    assert nvim.nvim.current.line == "line 40"
    assert (moved["col"], moved["lnum"], moved["topline"]) == (before["col"], before["lnum"] + 1, before["topline"] + 1)
    assert nvim.nvim.current.buffer.number == buffer
    nvim.keys("u")
    until(lambda: nvim.text(buffer) + "\n" == unsaved)
    assert nvim.lua("return vim.fn.undotree().seq_cur") == undo


@pytest.mark.usefixtures("auto")
def test_typing_into_the_same_line_makes_the_edit_stale(world: World, model: LLMock, nvim: Neovim) -> None:
    buffer = nvim.edit(world.file("a.py", "one\ntwo\nthree\n"))
    model.call_tool("read", {"path": "a.py"})
    model.delay(0)
    model.delay(2.0)
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "agent", "hash": text_hash("one\ntwo\nthree\n")})
    model.reply("Refused, I see.")
    nvim.send("change it")
    nvim.shows("read a.py")
    nvim.keys("2GA, mine<Esc>")
    nvim.shows("Refused, I see.")
    assert nvim.text(buffer) == "one\ntwo, mine\nthree"
    assert "hash_mismatch" in told(model)[1]
    assert "two, mine" in told(model)[1]


@pytest.mark.usefixtures("auto")
@pytest.mark.parametrize("rebase", [False, True])
def test_typing_elsewhere_never_hits_the_wrong_line(world: World, model: LLMock, nvim: Neovim, rebase: bool) -> None:
    world.settings(f"[editor]\nrebase = {str(rebase).lower()}\n")
    buffer = nvim.edit(world.file("a.py", "one\ntwo\nthree\n"))
    model.call_tool("read", {"path": "a.py"})
    model.delay(0)
    model.delay(2.0)
    edit = {"operation": "replace", "start_line": 2, "end_line": 2, "content": "agent", "path": "a.py"}
    model.call_tool("edit", {**edit, "hash": text_hash("one\ntwo\nthree\n")})
    model.reply("So.")
    nvim.send("change it")
    nvim.shows("read a.py")
    nvim.keys("ggOabove<Esc>")
    nvim.shows("So.")
    assert nvim.text(buffer) == ("above\none\nagent\nthree" if rebase else "above\none\ntwo\nthree")


@pytest.mark.usefixtures("auto")
def test_a_command_sees_the_edit_and_what_it_changes_is_current_in_the_editor(
    world: World, model: LLMock, nvim: Neovim
) -> None:
    other = nvim.edit(world.file("b.py", "one\ntwo\n"))
    buffer = nvim.edit(world.file("a.py", "one\ntwo\n"))
    model.call_tool("read", {"path": "a.py"})
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "agent"})
    model.call_tool("bash", {"command": "cat a.py; echo three >> b.py"})
    model.reply("Looked.")
    nvim.send("change it and look")
    nvim.shows("Looked.")
    assert "one\nagent" in told(model)[2]
    until(lambda: nvim.text(other) == "one\ntwo\nthree")
    assert nvim.text(buffer) == "one\nagent"
    assert not nvim.lua("return vim.api.nvim_get_mode().blocking")


@pytest.mark.usefixtures("auto")
def test_the_persons_own_unsaved_text_is_not_saved_for_a_command(world: World, model: LLMock, nvim: Neovim) -> None:
    path = world.file("a.py", "on disk\n")
    nvim.edit(path)
    nvim.keys("ccmine<Esc>")
    model.call_tool("bash", {"command": "cat a.py; echo more >> a.py"})
    model.reply("Looked.")
    nvim.send("look")
    nvim.shows("Looked.")
    assert "on disk" in told(model)[0]
    assert "not on disk: a.py (unsaved text of the user)" in told(model)[0]
    assert "changed on disk, but open with unsaved text and left as it is in the editor: a.py" in told(model)[0]
    assert nvim.text(nvim.nvim.current.buffer.number) == "mine"


@pytest.mark.usefixtures("auto")
def test_what_the_person_deletes_while_a_save_waits_is_not_saved(world: World, model: LLMock, nvim: Neovim) -> None:
    path = world.file("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n")
    buffer = nvim.edit(path)
    model.call_tool("read", {"path": "a.txt"})
    model.call_tool("replace", {"path": "a.txt", "old": "two", "new": "agent"})
    model.delay(0)
    model.delay(0)
    model.delay(1.0)
    model.call_tool("bash", {"command": "cat a.txt"})
    model.reply("Looked.")
    nvim.send("change it and look")
    until(lambda: "agent" in nvim.text(buffer))
    nvim.keys("4GVj")
    nvim.shows("bash")
    time.sleep(0.3)
    nvim.keys("d")
    nvim.shows("Looked.")
    assert nvim.text(buffer) == "one\nagent\nthree\nsix"
    assert path.read_text() == "one\ntwo\nthree\nfour\nfive\nsix\n"
    assert "not on disk: a.txt (unsaved text of the user)" in told(model)[2]


EMOJI = "\N{GRINNING FACE}"
ODD = {
    "CRLF": (b"one\r\ntwo\r\nthree\r\n", b"one\r\nagent\r\nthree\r\n"),
    "BOM": (b"\xef\xbb\xbfone\ntwo\nthree\n", b"\xef\xbb\xbfone\nagent\nthree\n"),
    "BOM and CRLF": (b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n", b"\xef\xbb\xbfone\r\nagent\r\nthree\r\n"),
    "no final newline": (b"one\ntwo\nthree", b"one\nagent\nthree"),
    "lone CR above": (b"o\rne\ntwo\nthree\n", b"o\rne\nagent\nthree\n"),
    "emoji before": (f"{EMOJI}{EMOJI}\ntwo\nthree\n".encode(), f"{EMOJI}{EMOJI}\nagent\nthree\n".encode()),
    "emoji in the line": (f"one\n{EMOJI} two\nthree\n".encode(), f"one\n{EMOJI} agent\nthree\n".encode()),
    "form feed and U+2028": ("o\fne\u2028x\ntwo\nthree\n".encode(), "o\fne\u2028x\nagent\nthree\n".encode()),
    "mixed line ends": (b"one\r\ntwo\nthree\r\n", b"one\r\nagent\nthree\r\n"),
    "5 MB": (b"x" * 79 + b"\n" + b"two\n" + (b"y" * 79 + b"\n") * 65_000, None),
}


@pytest.mark.usefixtures("auto")
@pytest.mark.parametrize("place", ["open", "closed"])
@pytest.mark.parametrize("kind", ODD)
def test_bytes_outside_an_edit_are_the_same(world: World, model: LLMock, nvim: Neovim, kind: str, place: str) -> None:
    before, after = ODD[kind]
    path = world.file("odd.txt", before)
    nvim.edit(path if place == "open" else world.file("other.txt", "other\n"))
    nvim.nvim.command("set nofixendofline")
    model.call_tool("read", {"path": "odd.txt", "limit": 10})
    model.call_tool("replace", {"path": "odd.txt", "old": "two", "new": "agent"})
    model.reply("Done with it.")
    nvim.send("change it")
    nvim.shows("Done with it.")
    if place == "open":
        assert path.read_bytes() == before
        nvim.nvim.command("write")
    expected = after if after is not None else before.replace(b"two", b"agent", 1)
    assert path.read_bytes() == expected


@pytest.mark.usefixtures("auto")
def test_a_latin_1_file_is_edited_in_its_buffer_and_not_on_disk(world: World, model: LLMock, nvim: Neovim) -> None:
    path = world.file("odd.txt", b"caf\xe9\ntwo\n")
    nvim.edit(path)
    model.call_tool("read", {"path": "odd.txt"})
    model.call_tool("replace", {"path": "odd.txt", "old": "two", "new": "na\u00efve"})
    model.reply("First.")
    nvim.send("change it")
    nvim.shows("First.")
    nvim.nvim.command("write")
    assert path.read_bytes() == b"caf\xe9\nna\xefve\n"
    nvim.nvim.command("enew | bwipeout! odd.txt")
    model.call_tool("read", {"path": "odd.txt"})
    model.call_tool("replace", {"path": "odd.txt", "old": "caf", "new": "x"})
    model.reply("Second.")
    nvim.send("change it")
    nvim.shows("Second.")
    assert path.read_bytes() == b"caf\xe9\nna\xefve\n"
    assert "unsupported_encoding" in told(model)[-1]


@pytest.mark.usefixtures("auto")
def test_a_file_opened_through_a_link_and_an_edit_after_a_save(world: World, model: LLMock, nvim: Neovim) -> None:
    real = world.file("real.txt", "one\ntwo\n")
    (world.root / "link.txt").symlink_to(real)
    buffer = nvim.edit(world.root / "link.txt")
    nvim.keys("Gothree<Esc>:w<CR>")
    until(lambda: real.read_text() == "one\ntwo\nthree\n")
    model.call_tool("read", {"path": "real.txt"})
    model.call_tool("replace", {"path": "real.txt", "old": "two", "new": "agent"})
    model.reply("Done with it.")
    nvim.send("change it")
    nvim.shows("Done with it.")
    assert nvim.text(buffer) == "one\nagent\nthree"
    assert real.read_text() == "one\ntwo\nthree\n"
    assert (world.root / "link.txt").is_symlink()


def test_a_question_is_answered_and_shows_the_change(world: World) -> None:
    world.script(
        [{"call": "read", "arguments": {"path": "a.py"}}],
        [{"call": "replace", "arguments": {"path": "a.py", "old": "two", "new": "agent"}}],
        [{"text": "Done with it."}],
    )
    with started(world) as running:
        buffer = running.edit(world.file("a.py", "one\ntwo\n"))
        running.nvim.command("Smith")
        running.send("change it")
        running.shows("+agent")
        assert running.text(buffer) == "one\ntwo"
        running.nvim.command("Smith yes")
        running.shows("Done with it.")
        assert running.text(buffer) == "one\nagent"


@pytest.fixture
def script(world: World) -> World:
    world.settings('[approval]\nmode = "auto"\n')
    return world


def test_the_cancel_key_stops_a_stream_and_keeps_its_text(script: World) -> None:
    script.script([{"text": "word " * 400, "size": 5, "delay": 0.02}], [{"text": "The next turn works."}])
    with started(script) as running:
        running.nvim.command("Smith")
        running.send("talk")
        running.shows("word word word")
        stop_with_a_key(running)
        assert "word word word" in running.chat()


@pytest.mark.parametrize(
    "command",
    ["sleep {mark} & sleep {mark}", "trap '' TERM; sleep {mark} & sleep {mark}"],
    ids=["with a child in the background", "ignores TERM"],
)
def test_the_cancel_key_stops_a_command_and_leaves_no_process(script: World, command: str) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    script.script(
        [{"call": "bash", "arguments": {"command": command.format(mark=mark)}}], [{"text": "The next turn works."}]
    )
    with started(script) as running:
        running.nvim.command("Smith")
        running.send("run it")
        until(lambda: len(living(f"sleep {mark}")) >= 2)
        stop_with_a_key(running)
        assert living(mark) == []


def test_the_cancel_key_withdraws_a_question(world: World) -> None:
    world.script([{"call": "bash", "arguments": {"command": "touch ran"}}], [{"text": "The next turn works."}])
    with started(world) as running:
        running.nvim.command("Smith")
        running.send("run it")
        running.shows("May I run bash")
        stop_with_a_key(running)
        assert not (world.root / "ran").exists()


def test_the_cancel_key_works_in_a_buffer_that_the_turn_has_changed(script: World) -> None:
    edit = {"path": "a.py", "old": "two", "new": "agent"}
    script.script(
        [{"call": "read", "arguments": {"path": "a.py"}}],
        [{"call": "replace", "arguments": edit}],
        [{"text": "Changed. "}, {"wait": 60}],
        [{"text": "The next turn works."}],
    )
    with started(script) as running:
        buffer = running.edit(script.file("a.py", "one\ntwo\n"))
        running.send("change it")
        running.shows("Changed.")
        stop_with_a_key(running)
        assert running.text(buffer) == "one\nagent"


@contextmanager
def started(world: World) -> Iterator[Neovim]:
    running = Neovim(world)
    try:
        yield running
    finally:
        running.close()


def stop_with_a_key(running: Neovim) -> None:
    """Below a second, and the next turn works."""
    running.keys("<Esc><C-c>")
    until(lambda: "Cancelled." in running.chat(), 1.0)
    running.send("again")
    running.shows("The next turn works.")


def test_a_killed_editor_takes_server_and_children_with_it(script: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    command = f"trap '' TERM; sleep {mark} & setsid sleep {mark} & sleep {mark}"
    script.script([{"call": "bash", "arguments": {"command": command}}])
    running = Neovim(script)
    try:
        running.send("go")
        until(lambda: len(living(f"sleep {mark}")) >= 3)
        servers = running.servers()
        assert servers
        os.kill(running.pid, signal.SIGKILL)
        until(lambda: not living(mark) and not any(Path(f"/proc/{pid}/exe").exists() for pid in servers), 5)
    finally:
        running.close()


def test_health_and_help_answer(world: World, nvim: Neovim) -> None:
    world.script([])
    nvim.nvim.command("checkhealth smith")
    report = nvim.text(nvim.nvim.current.buffer.number)
    assert "smith" in report
    assert "ERROR" not in report
    nvim.nvim.command(f"helptags {REPOSITORY / 'editors' / 'nvim' / 'doc'}")
    nvim.nvim.command("help smith")
    assert nvim.nvim.current.buffer.name.endswith("smith.txt")
