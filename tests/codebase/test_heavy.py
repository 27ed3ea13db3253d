import asyncio
import sys
import time
from pathlib import Path

import pytest

from smith_server.codebase.explorer import Explorer
from smith_server.codebase.index import Index
from smith_server.codebase.worker import MOST_BYTES, Work
from smith_server.codebase.workers import Workers
from smith_server.tools.code_outline import CodeOutline
from smith_server.tools.code_symbols import CodeSymbols
from smith_server.tools.exploring import Exploring
from tests.codebase.processes import Counting, children
from tests.tools.calls import call

NESTED = "{" * 200_000
FLAT = "var a=[" + "1," * (MOST_BYTES // 2 - 100_000) + "1]"
ROUGH = "by the look of its lines: too large, or too slow, to be taken apart by its grammar"


class Ready(Exploring):
    """One whose explorer is there already."""

    def __init__(self, explorer):
        self._explorer = explorer


@pytest.fixture
def workers():
    made = Counting()
    yield made
    made.close()


@pytest.fixture
def exploring(ripgrep, editor, workers):
    return Ready(Explorer(ripgrep, editor, index=Index(None, workers)))


async def until(there):
    deadline = time.monotonic() + 20
    while not there():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def longest_pause(work):
    """The longest time the loop did not turn while `work` ran."""
    longest, before = 0.0, time.monotonic()
    while not work.done():
        await asyncio.sleep(0.01)
        now = time.monotonic()
        longest, before = max(longest, now - before), now
    return longest


@pytest.mark.parametrize("text", [NESTED, FLAT], ids=["nested", "flat"])
async def test_a_cancel_of_an_outline_that_takes_long_is_immediate(exploring, project, text):
    folder = project({"one.js": text})
    work = asyncio.ensure_future(call(CodeOutline(exploring), folder, path="one.js"))
    await until(children)
    began = time.monotonic()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert time.monotonic() - began < 1
    assert children() == []


async def test_an_outline_that_takes_long_holds_up_nothing_and_goes_by_the_look_of_lines(exploring, project):
    folder = project({"one.js": f"function go() {{}}\n{NESTED}"})
    work = asyncio.ensure_future(call(CodeOutline(exploring), folder, path="one.js"))
    assert await longest_pause(work) < 1
    result = await work
    assert (result.content, result.summary) == (f"1-2 function go() {{}}\n[{ROUGH}]", "1 definition")
    folder = project({"a.py": "def a():  # two  blanks\n\tpass\n"})
    assert (await call(CodeOutline(exploring), folder, path="a.py")).content == "1-2 def a():  # two  blanks"


async def test_a_text_above_the_limit_is_outlined_by_the_look_of_its_lines(exploring, project):
    lines = "".join(f"class A{number}:\n    {'x' * 1000} = 1\n" for number in range(5000))
    folder = project({"large.py": lines, "large.js": f"var a=[{'1,' * 3_000_000}1]"})
    work = asyncio.ensure_future(call(CodeOutline(exploring), folder, path="large.py"))
    assert await longest_pause(work) < 1
    result = await work
    assert result.summary == "5,000 definitions"
    assert result.content.startswith("1-2 class A0:\n3-4 class A1:\n")
    assert result.content.endswith(f"[{ROUGH}]")
    nothing = await call(CodeOutline(exploring), folder, path="large.js")
    assert nothing.content == f"Nothing is defined here, as far as can be seen.\n[{ROUGH}]"


async def test_files_that_take_long_cost_a_search_a_few_seconds_once_and_are_named(exploring, workers, project):
    folder = project(
        {"a.js": "function go() {}\n", **{f"{name}.js": f"function go() {{}}\n{NESTED}" for name in ("x", "y")}}
    )
    told = (
        "a.js:1: function: function go() {}\n"
        "x.js:1-2: function: function go() {}\n"
        "y.js:1-2: function: function go() {}\n"
        "[only the look of lines counts in x.js, y.js: a grammar takes too long there]"
    )
    assert (await call(CodeSymbols(exploring), folder, query="go")).content == told
    assert (await call(CodeSymbols(exploring), folder, query="go")).content == told
    assert workers.given == [["a.js", "x.js", "y.js"]]


async def test_one_process_waits_for_the_next_question_and_not_for_ever(project):
    folder = project({"a.py": "def go(): pass\n"})
    workers = Workers(2, idle=0.3)
    works = [Work(str(folder / "a.py"))]
    await workers.parse(works, lambda *_: None)
    waiting = children()
    assert len(waiting) == 1
    await workers.parse(works, lambda *_: None)
    assert children() in (waiting, [])
    await until(lambda: not children())


@pytest.mark.parametrize("text", ["x = 1", NESTED], ids=["idle", "busy"])
async def test_no_process_stays_when_the_server_is_killed(text):
    code = (
        "import asyncio\nfrom smith_server.codebase.workers import Workers\n"
        "from smith_server.codebase.worker import Work\n"
        "async def main():\n"
        f"    await Workers(1).parse([Work('a.js', {text[:1]!r}.encode() * {len(text)})], lambda *_: None)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=Path(__file__).parents[2])
    found = []
    # One that is just being started has no name yet.
    await until(lambda: found.extend(children(server.pid)) or found)
    child = found[0]
    server.kill()
    await server.wait()
    await until(lambda: not Path(f"/proc/{child}").exists() or "Z (" in Path(f"/proc/{child}/stat").read_text())


async def test_the_server_itself_loads_no_grammar():
    code = (
        "import asyncio, sys\nfrom smith_server.codebase.index import Index\n"
        "from smith_server.codebase.symbol import unpack\n"
        "found = asyncio.run(Index(None).outline('a.py', 'def go(): pass'))\n"
        "print([each.name for each in unpack(found.packed)], 'tree_sitter' in sys.modules)"
    )
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=Path(__file__).parents[2], stdout=pipe
    )
    assert (await server.communicate())[0] == b"['go'] False\n"
