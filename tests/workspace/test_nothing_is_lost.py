"""Random work of a person and of an agent on one file: nothing that the agent has not seen may go."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.edits import ExactEdit, LineEdit, Rewrite
from smith_server.workspace.paths import locate
from smith_server.workspace.text import decode, line_count, line_ends, lines_of, only_line_end, text_hash
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor
from tests.workspace import odd

TYPED = [chr(0xE000 + number) for number in range(200)]


class Desk:
    """One file, open or not; every character the person types is told apart from all others."""

    def __init__(self, folder, text, *, is_open, rebase):
        self.path = folder / "file"
        self.path.write_bytes(text.encode())
        self.editor = FakeEditor({self.path: text} if is_open else {})
        self.texts = Texts(self.editor, rebase=rebase, environment={"HOME": str(folder)})
        self.place = locate("file", folder)
        self.keys = iter(TYPED)
        self.shown = ""
        self.hashes = [text_hash(text)]

    @property
    def text(self):
        is_open = self.path in self.editor.buffers
        return self.editor.buffers[self.path] if is_open else decode(self.path.read_bytes()).text

    def person(self, where, extra):
        text = self.text
        at = round(where * len(text))
        typed = text[:at] + next(self.keys) + extra + text[at:]
        if self.path in self.editor.buffers:
            self.editor.type(self.path, typed)
        else:
            self.path.write_bytes(decode(self.path.read_bytes()).bom + typed.encode())

    async def read(self):
        view = await self.texts.read(self.place)
        self.shown = view.text
        self.hashes.append(view.hash)

    async def edit(self, make, which):
        before = self.text
        wanted, given = make(self.shown, which), self.hashes[-1 - which % len(self.hashes)]
        try:
            plan = await self.texts.change(self.place, wanted, "" if which % 3 == 0 else given)
        except ToolRefusal:
            return
        unseen = {key for key in TYPED if key in before and key not in self.shown}
        assert unseen <= set(self.text)
        assert text_hash(self.text) == plan.hash
        self.hashes.append(plan.hash)
        if plan.seen:
            self.shown = self.text


def line_edit(shown, which):
    count = line_count(shown)
    start = which % (count + 1) + 1
    return LineEdit(
        ["replace", "insert", "delete"][which % 3], start, min(start + which % 2, max(count, start)), "new\nline"
    )


def exact_edit(shown, which):
    lines = lines_of(shown) or ["x"]
    return ExactEdit(lines[which % len(lines)], "exact\n", which % 2 == 0)


def rewrite(shown, which):
    lines = lines_of(shown)
    return Rewrite("".join(lines[: which % (len(lines) + 1)]) + "all\n")


numbers = st.integers(0, 1000)
steps = st.one_of(
    st.tuples(st.just("person"), st.floats(0, 1), st.sampled_from(["", "\n", "\r\n", "x"])),
    st.tuples(st.just("read")),
    st.tuples(st.just("edit"), st.sampled_from([line_edit, exact_edit, rewrite]), numbers),
    st.tuples(st.just("typed in between"), st.sampled_from([line_edit, exact_edit, rewrite]), numbers, st.floats(0, 1)),
)


async def play(desk, script):
    for kind, *more in script:
        match kind:
            case "person":
                desk.person(*more)
            case "read":
                await desk.read()
            case "edit":
                await desk.edit(*more)
            case _:
                make, which, where = more
                desk.editor.before_apply = lambda where=where: desk.person(where, "")
                await desk.edit(make, which)
                desk.editor.before_apply = lambda: None


@pytest.mark.parametrize("is_open", [True, False], ids=["buffer", "disk"])
@pytest.mark.parametrize("rebase", [True, False], ids=["rebase", "strict"])
@settings(max_examples=60, deadline=None)
@given(text=odd.texts, script=st.lists(steps, min_size=1, max_size=15))
def test_no_character_that_the_agent_has_not_seen_is_ever_lost(is_open, rebase, text, script):
    with tempfile.TemporaryDirectory() as name:
        desk = Desk(Path(os.path.realpath(name)), text, is_open=is_open, rebase=rebase)
        asyncio.run(play(desk, [("read",), *script]))


CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "edits.jsonl").read_text(encoding="utf-8").splitlines()
]
IN_BUFFERS = [
    case
    for case in CASES
    if "bytes_latin1" in case["expected"]
    and case["input"]["op"]["kind"] != "lsp"
    and decode(case["input"]["bytes_latin1"].encode("latin-1")).text.endswith("\n")
    == case["expected"]["bytes_latin1"].endswith("\n")
]


@pytest.mark.parametrize("case", IN_BUFFERS, ids=[case["id"] for case in IN_BUFFERS])
async def test_an_edit_gives_the_same_text_in_a_buffer_as_on_disk(case, tmp_path):
    before, after = (decode(each["bytes_latin1"].encode("latin-1")).text for each in (case["input"], case["expected"]))
    op = case["input"]["op"]
    start = op["after_line"] + 1 if op["kind"] == "insert" else op["start"]
    path = tmp_path / "file"
    editor = FakeEditor({path: before})
    texts = Texts(editor, environment={"HOME": str(tmp_path)})
    edit = LineEdit(op["kind"], start, op.get("end", start), op.get("text", ""))
    plan = await texts.change(locate("file", tmp_path), edit, text_hash(before))
    assert (editor.buffers[path], plan.made.line_delta) == (after, case["expected"]["line_delta"])
    assert not path.exists()


REFUSED = [
    case
    for case in CASES
    if case["expected"].get("error", "file_not_found") not in ("file_not_found", "read_only", "unsupported_encoding")
    and case["input"]["op"]["kind"] != "lsp"
    and "target" not in case["input"]
    and "max_bytes" not in case["input"]
]


@pytest.mark.parametrize("case", REFUSED, ids=[case["id"] for case in REFUSED])
async def test_what_is_refused_on_disk_is_refused_in_a_buffer(case, tmp_path):
    given, path = case["input"], tmp_path / "file"
    text = decode(given["bytes_latin1"].encode("latin-1") * given.get("repeat", 1)).text
    editor = FakeEditor({path: text})
    op = given["op"]
    start = op["after_line"] + 1 if op["kind"] == "insert" else op["start"]
    edit = LineEdit(op["kind"], start, op.get("end", start - 1), op.get("text", ""))
    known = {"current": text_hash(text), "stale": "0" * 16, None: ""}[given["hash"]]
    with pytest.raises(ToolRefusal) as refused:
        await Texts(editor, environment={"HOME": str(tmp_path)}).change(locate("file", tmp_path), edit, known)
    assert (refused.value.error.code, editor.buffers[path]) == (case["expected"]["error"], text)


@pytest.mark.parametrize("is_open", [True, False], ids=["buffer", "disk"])
@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    text=odd.texts.filter(lambda text: line_ends(text) != "cr" and not only_line_end(text)),
    mark=st.booleans(),
)
def test_bytes_outside_an_edit_never_change(is_open, data, text, mark):
    lines = lines_of(text)
    start = data.draw(st.integers(1, len(lines) + 1))
    end = data.draw(st.integers(start - 1, len(lines)))
    content = data.draw(odd.contents.filter(bool))
    edit = LineEdit("replace", start, end, content) if end >= start else LineEdit("insert", start, start, content)
    with tempfile.TemporaryDirectory() as name:
        path = Path(os.path.realpath(name)) / "file"
        bom = b"\xef\xbb\xbf" if mark or text.startswith("\ufeff") else b""
        path.write_bytes(bom + text.encode())
        editor = FakeEditor({path: text} if is_open else {})
        texts = Texts(editor, environment={"HOME": name})
        asyncio.run(texts.change(locate("file", path.parent), edit, text_hash(text)))
        disk = path.read_bytes()
        result = bom + editor.buffers[path].encode() if is_open else disk
    head, tail = bom + "".join(lines[: start - 1]).encode(), "".join(lines[end:]).encode()
    assert result.startswith(head)
    assert result.endswith(tail)
    assert not is_open or disk == bom + text.encode()
