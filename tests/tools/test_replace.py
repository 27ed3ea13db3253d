import pytest

from smith_server.tools.read import Read
from smith_server.tools.replace import Replace
from smith_server.workspace.text import text_hash
from smith_server.workspace.texts import Texts
from tests.fakes.editor import FakeEditor
from tests.tools.calls import call, preview

TEXT = "def f():\r\n\treturn 1\r\n\r\ndef g():\r\n\treturn 1\r\n"


@pytest.fixture
def texts():
    return Texts(FakeEditor(), environment={"HOME": "/nowhere"})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(TEXT.encode())
    return path


async def test_text_is_replaced_once_and_the_file_keeps_its_line_ends(texts, path, tmp_path):
    await call(Read(texts), tmp_path, path="a.py")
    result = await call(Replace(texts), tmp_path, path="a.py", old="f():\n\treturn 1", new="f():\n\tx = 1\n\treturn x")
    now = TEXT.replace("return 1", "x = 1\r\n\treturn x", 1)
    assert path.read_bytes() == now.encode()
    assert result.content == (
        f"a.py: lines 2-3 changed, +1 line; hash {text_hash(now)}\n"
        "1\tdef f():\n2\t\tx = 1\n3\t\treturn x\n4\t\n5\tdef g():"
    )


async def test_all_places_are_replaced_when_asked_for(texts, path, tmp_path):
    result = await call(
        Replace(texts), tmp_path, path="a.py", old="return 1", new="return 2", all=True, hash=text_hash(TEXT)
    )
    assert path.read_bytes() == TEXT.replace("return 1", "return 2").encode()
    assert result.summary == "+2 −2 (on disk)"


async def test_several_places_are_counted_and_nothing_is_done(texts, path, tmp_path):
    result = await call(Replace(texts), tmp_path, path="a.py", old="return 1", new="x", hash=text_hash(TEXT))
    assert result.content.startswith("several_matches: `old` stands in the file 2 times (lines 2, 5).")
    assert path.read_bytes() == TEXT.encode()


async def test_a_near_miss_is_shown(texts, path, tmp_path):
    result = await call(
        Replace(texts), tmp_path, path="a.py", old="def g():\n  return 1", new="x", hash=text_hash(TEXT)
    )
    assert result.code == "no_match"
    assert "Nearest lines:\n4\tdef g():\n5\t\treturn 1\nline 5 only white space differs" in result.content


async def test_a_file_has_to_be_read_first(texts, path, tmp_path):
    result = await call(Replace(texts), tmp_path, path="a.py", old="f()", new="x")
    assert result.content == "hash_required: a.py exists. Read it first, and give the hash you got."


async def test_the_preview_shows_the_diff(texts, path, tmp_path):
    shown = await preview(Replace(texts), tmp_path, path="a.py", old="f()", new="h()", hash=text_hash(TEXT))
    assert (shown.title, "-def f():\n+def h():\n" in shown.diff) == ("a.py", True)
