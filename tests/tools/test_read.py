import os

import msgspec
import pytest

from smith_server.core.tool import Effect, decode_arguments, spec
from smith_server.tools.edit import Edit
from smith_server.tools.read import Read, ReadArgs
from smith_server.tools.replace import Replace
from smith_server.tools.write import Write
from smith_server.workspace.text import text_hash
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor
from tests.tools.calls import call, preview


@pytest.fixture
def editor():
    return FakeEditor()


@pytest.fixture
def read(editor):
    return Read(Texts(editor, environment={"HOME": "/nowhere"}))


async def test_lines_are_numbered_below_the_hash_of_the_whole_file(read, tmp_path):
    (tmp_path / "a.py").write_bytes(b"one\r\n\ttwo\r\n")
    result = await call(read, tmp_path, path="a.py")
    expected = text_hash("one\r\n\ttwo\r\n")
    assert result.content == f"hash {expected}; lines 1-2 of 2\n1\tone\n2\t\ttwo"
    assert (result.ok, result.summary, result.mutation, result.touched) == (True, "lines 1-2 of 2", "none", ())


async def test_a_part_is_read_and_says_where_to_go_on(read, tmp_path):
    text = "".join(f"{number}\n" for number in range(1, 11))
    (tmp_path / "a.py").write_text(text)
    result = await call(read, tmp_path, path="a.py", offset=3, limit=2)
    assert result.content == f"hash {text_hash(text)}; lines 3-4 of 10\n3\t3\n4\t4\n[next offset: 5]"
    assert "[next" not in (await call(read, tmp_path, path="a.py", offset=9, limit=2)).content


async def test_no_more_than_a_thousand_lines_come_at_once(read, tmp_path):
    (tmp_path / "a.py").write_text("x\n" * 2500)
    result = await call(read, tmp_path, path="a.py")
    assert result.content.endswith("1000\tx\n[next offset: 1001]")
    assert (await call(read, tmp_path, path="a.py", offset=2001)).content.endswith("2500\tx")


async def test_a_result_has_a_size_and_cuts_long_lines_where_it_can_be_seen(read, tmp_path):
    (tmp_path / "wide").write_text(("é" * 1500 + "\n") * 40)
    content = (await call(read, tmp_path, path="wide")).content
    assert len(content.encode()) < 33_000
    assert content.endswith("[next offset: 11]")
    (tmp_path / "long").write_text("x" * 600_000 + "\nend\n")
    content = (await call(read, tmp_path, path="long")).content
    assert content.endswith("x[… 598000 more characters]\n2\tend")


@pytest.mark.parametrize(
    ("data", "offset", "said"),
    [
        (b"", 1, "the file is empty"),
        (b"", 7, "the file is empty"),
        (b"a\n", 2, "no lines: the file has 1"),
        (b"\n", 1, "lines 1-1 of 1\n1\t"),
    ],
    ids=["empty", "empty-offset", "past-the-end", "blank"],
)
async def test_files_with_nothing_to_show_are_no_failure(read, tmp_path, data, offset, said):
    (tmp_path / "a.py").write_bytes(data)
    result = await call(read, tmp_path, path="a.py", offset=offset)
    assert result.ok
    assert result.content == f"hash {text_hash(data.decode())}; {said}"


async def test_the_state_of_the_text_is_told(read, editor, tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"caf\xe9\n")
    assert (await call(read, tmp_path, path="a.py")).content.endswith(
        "; encoding latin-1; cannot be edited: unsupported_encoding\n1\tcafé"
    )
    editor.buffers[path] = "buffer\n"
    assert (
        "; open in the editor; changed by somebody else since you saw it last\n"
        in (await call(read, tmp_path, path="a.py")).content
    )
    editor.type(path, "typed\n")
    assert (
        "; open in the editor with unsaved text, differs from disk; changed"
        in (await call(read, tmp_path, path="a.py")).content
    )


async def test_what_is_no_text_file_is_refused_with_its_name(read, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"a\0b")
    os.mkfifo(tmp_path / "pipe")
    said = [(await call(read, tmp_path, path=name)).content for name in ("folder", "binary", "pipe", "missing")]
    assert said == [
        "is_directory: folder is a directory. Name a file in it.",
        "binary_file: binary is a binary file (it holds NUL bytes).",
        "not_regular_file: pipe is a pipe, not a regular file.",
        "file_not_found: There is no file missing.",
    ]


async def test_the_preview_names_the_file_and_where_a_link_leads(read, tmp_path):
    (tmp_path / "link").symlink_to("/dev/null")
    assert (await preview(read, tmp_path, path="link")).title == "link (a link to /dev/null)"


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "a", "offset": 0}', '{"path": "a", "limit": 1001}', '{"path": 1}', "{}", '{"path": "a", "lines": 3}'],
)
def test_arguments_out_of_range_or_unknown_are_named(arguments):
    with pytest.raises(msgspec.ValidationError):
        decode_arguments(ReadArgs, arguments)


@pytest.mark.parametrize("make", [Read, Edit, Replace, Write])
def test_what_a_model_is_told_of_a_tool_is_short(make, editor):
    tool = make(Texts(editor))
    assert len(msgspec.json.encode(spec(tool))) <= 600
    assert tool.name == make.__name__.lower()
    assert tool.effect is (Effect.READ if make is Read else Effect.EDIT)
