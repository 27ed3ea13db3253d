"""The main job in a real Emacs on a terminal, against a model server written by somebody else."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock

from smith_server.workspace.text import text_hash
from tests.e2e.emacs import C_C, C_X, ESC, RET, Person
from tests.e2e.neovim import Neovim, until
from tests.e2e.processes import living
from tests.e2e.test_nvim import ODD, told
from tests.e2e.world import World
from tests.emacs import lisp

pytestmark = pytest.mark.emacs

TEXT = "".join(f"line {number}\n" for number in range(1, 61))
CANCEL = C_C + "\x0b"
UNDO = "\x1f"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lisp.compiled(tmp_path_factory.mktemp("package") / "emacs")


@pytest.fixture
def person(world: World, package: Path) -> Iterator[Person]:
    running = Person(world, package)
    yield running
    running.close()


@pytest.fixture
def auto(world: World, model: LLMock) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.use(model)


@pytest.mark.usefixtures("auto")
def test_an_edit_lands_in_an_unsaved_buffer_as_one_undo_step(world: World, model: LLMock, person: Person) -> None:
    path = world.file("a.py", TEXT)
    person.edit(path)
    person.keys(ESC + "gg30" + RET + "mine, not saved " + ESC + "gg40" + RET + "\x06\x06\x06\x06\x06\x0c")
    until(lambda: "mine, not saved line 30" in person.text(path) and person.lisp("(line-number-at-pos)") == 40)
    unsaved = person.text(path)
    above = person.lisp("(- (line-number-at-pos) (line-number-at-pos (window-start)))")
    model.call_tool("read", {"path": "a.py"})
    edit = {"operation": "replace", "start_line": 35, "end_line": 35, "content": "agent\nlines", "path": "a.py"}
    model.call_tool("edit", {**edit, "hash": text_hash(unsaved)})
    model.reply("All done.")
    person.send("change line 35")
    person.shows("All done.")
    after = unsaved.replace("line 35\n", "agent\nlines\n")
    assert person.text(path) == after
    assert path.read_text() == TEXT
    results = told(model)
    assert "mine, not saved line 30" in results[0]
    assert text_hash(after) in results[1]
    assert person.lisp("(list (buffer-name) (line-number-at-pos) (current-column))") == ["a.py", 41, 5]
    assert abs(person.lisp("(- (line-number-at-pos) (line-number-at-pos (window-start)))") - above) <= 1
    person.keys(UNDO)
    until(lambda: person.text(path) == unsaved)
    assert person.lisp("(buffer-modified-p)")


@pytest.mark.usefixtures("auto")
def test_typing_into_the_same_line_makes_the_edit_stale(world: World, model: LLMock, person: Person) -> None:
    path = world.file("a.py", "one\ntwo\nthree\n")
    person.edit(path)
    model.call_tool("read", {"path": "a.py"})
    model.delay(0)
    model.delay(2.0)
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "agent", "hash": text_hash("one\ntwo\nthree\n")})
    model.reply("Refused, I see.")
    person.send("change it")
    person.shows("read a.py")
    person.keys("\x0e\x05, mine")
    person.shows("Refused, I see.")
    assert person.text(path) == "one\ntwo, mine\nthree\n"
    assert "hash_mismatch" in told(model)[1]
    assert "two, mine" in told(model)[1]


@pytest.mark.usefixtures("auto")
def test_a_command_sees_the_edit_and_what_it_changes_is_current_in_the_editor(
    world: World, model: LLMock, person: Person
) -> None:
    other, path = world.file("b.py", "zero\none\ntwo\n"), world.file("a.py", "one\ntwo\n")
    unsaved = world.file("c.py", "one\n")
    for each in (unsaved, path, other):
        person.edit(each)
    person.lisp('(ignore (with-current-buffer "c.py" (insert "mine ")) (goto-char 6) (push-mark 10 t))')
    model.call_tool("read", {"path": "a.py"})
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "agent"})
    model.call_tool("bash", {"command": "cat a.py; (echo more; cat b.py; echo three) > d && mv d b.py; echo x >> c.py"})
    model.reply("Looked.")
    person.send("change it and look")
    person.shows("Looked.")
    assert "one\nagent" in told(model)[2]
    until(lambda: person.text(other) == "more\nzero\none\ntwo\nthree\n")
    assert person.lisp("(list (point) (mark t) (buffer-modified-p))") == [11, 15, None]
    assert person.text(unsaved) == "mine one\n"
    assert "changed on disk, but open with unsaved text" in told(model)[2]
    person.keys(C_X + "u")
    until(lambda: person.text(other) == "zero\none\ntwo\n")


@pytest.mark.usefixtures("auto")
@pytest.mark.parametrize("place", ["open", "closed"])
def test_bytes_outside_an_edit_are_the_same(world: World, model: LLMock, person: Person, place: str) -> None:
    other = world.file("other.txt", "other\n")
    # One Emacs for all kinds: nothing but its start would be repeated.
    for number, (before, after) in enumerate(ODD.values()):
        path = world.file(f"odd{number}.txt", before)
        person.edit(path if place == "open" else other)
        model.call_tool("read", {"path": path.name, "limit": 10})
        model.call_tool("replace", {"path": path.name, "old": "two", "new": "agent"})
        model.reply(f"Done with {number}.")
        person.send("change it")
        person.shows(f"Done with {number}.")
        if place == "open":
            assert path.read_bytes() == before
            person.lisp("(ignore (save-buffer))")
        assert path.read_bytes() == (after if after is not None else before.replace(b"two", b"agent", 1)), path


@pytest.mark.usefixtures("auto")
def test_what_became_of_an_edit_is_told_once(world: World, model: LLMock, person: Person) -> None:
    path = world.file("a.py", "one\ntwo\n")
    person.edit(path)
    model.call_tool("read", {"path": "a.py"})
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "agent"})
    model.reply("First.")
    person.send("change it")
    person.shows("First.")
    person.keys(UNDO)
    until(lambda: person.text(path) == "one\ntwo\n")
    model.reply("Second.")
    person.send("and now")
    person.shows("Second.")
    sent = str(model.last_request.body["messages"])
    assert sent.count("took your edit of a.py back") == 1


def test_a_question_is_answered_and_shows_the_change(world: World, package: Path) -> None:
    world.script(
        [{"call": "read", "arguments": {"path": "a.py"}}],
        [{"call": "replace", "arguments": {"path": "a.py", "old": "two", "new": "agent"}}],
        [{"text": "Done with it."}],
    )
    person = Person(world, package)
    try:
        path = world.file("a.py", "one\ntwo\n")
        person.edit(path)
        person.open()
        person.keys("change it" + RET)
        person.shows("+agent")
        assert person.text(path) == "one\ntwo\n"
        person.keys(C_C + "\x11y")
        person.shows("Done with it.")
        assert person.text(path) == "one\nagent\n"
        assert path.read_text() == "one\ntwo\n"
    finally:
        person.close()


def stop_with_a_key(person: Person) -> None:
    """Below a second, and the next turn works."""
    person.keys(CANCEL)
    until(lambda: "Cancelled." in person.chat(), 1.0)
    person.send("again")
    person.shows("The next turn works.")


MARK = f"60.{secrets.randbelow(10**9):09d}"
NEXT = [{"text": "The next turn works."}]
EDIT = {"path": "a.py", "old": "two", "new": "agent"}
CANCELS = {
    "stream": ([[{"text": "word " * 400, "size": 5, "delay": 0.02}]], "word word word", "auto"),
    "command": (
        [[{"call": "bash", "arguments": {"command": f"trap '' TERM; sleep {MARK} & sleep {MARK}"}}]],
        "… bash",
        "auto",
    ),
    "question": ([[{"call": "bash", "arguments": {"command": "touch ran"}}]], "May I run bash", "prompt"),
    "changed buffer": (
        [
            [{"call": "read", "arguments": {"path": "a.py"}}],
            [{"call": "replace", "arguments": EDIT}],
            [{"text": "Changed. "}, {"wait": 60}],
        ],
        "Changed.",
        "auto",
    ),
}


@pytest.mark.parametrize("what", CANCELS)
def test_the_cancel_key_stops_what_runs_within_a_second(world: World, package: Path, what: str) -> None:
    replies, seen, mode = CANCELS[what]
    world.settings(f'[approval]\nmode = "{mode}"\n')
    world.script(*replies, NEXT)
    person = Person(world, package)
    try:
        path = world.file("a.py", "one\ntwo\n")
        person.edit(path)
        if what != "changed buffer":
            person.open()
        person.send("go")
        person.shows(seen)
        if what == "command":
            until(lambda: len(living(f"sleep {MARK}")) >= 2)
        assert person.lisp("(buffer-name)") == ("a.py" if what == "changed buffer" else "*smith: project*")
        stop_with_a_key(person)
        assert living(MARK) == []
        assert not (world.root / "ran").exists()
        assert person.text(path) == ("one\nagent\n" if what == "changed buffer" else "one\ntwo\n")
    finally:
        person.close()


@pytest.mark.nvim
def test_a_conversation_begun_in_neovim_goes_on_in_emacs(world: World, package: Path) -> None:
    world.script([{"text": "Hello from **here**."}])
    nvim = Neovim(world)
    nvim.send("Remember the word zebra.")
    nvim.shows("Hello from **here**.")
    nvim.close()
    world.script([{"text": "It was zebra."}])
    person = Person(world, package)
    try:
        person.open()
        person.shows("❯ Remember the word zebra.\n\nHello from **here**.\n")
        person.keys("What was it?" + RET)
        person.shows("❯ What was it?\n\nIt was zebra.\n")
        person.keys(ESC + "p" + ESC + "p")
        until(lambda: person.chat().endswith("\nRemember the word zebra."))
    finally:
        person.close()


def test_the_key_completes_a_command(world: World, package: Path) -> None:
    world.script([])
    person = Person(world, package)
    try:
        person.open()
        until(lambda: person.lisp("(and (smith-rpc-connections) t)"))
        person.keys("/mem\t")
        until(lambda: person.chat().rstrip().endswith("/memory"))
    finally:
        person.close()


def test_health_finds_no_fault(world: World, package: Path) -> None:
    world.script([])
    person = Person(world, package)
    try:
        person.open()
        person.keys(ESC + "xsmith-health" + RET)
        until(lambda: "version: smith" in person.lisp('(with-current-buffer "*smith health*" (buffer-string))'))
        assert "ERROR" not in person.lisp('(with-current-buffer "*smith health*" (buffer-string))')
    finally:
        person.close()
