import asyncio
import os
import signal

import pytest

from smith_server.codebase.area import area_at
from smith_server.codebase.cache import Cache
from smith_server.codebase.explorer import Explorer
from smith_server.codebase.index import Index
from smith_server.codebase.matching import question
from smith_server.codebase.worker import Work
from smith_server.codebase.workers import Workers
from tests.codebase.processes import Counting, children

MANY = {f"pkg/m{number:03}.py": f"def make_{number:03}():\n    pass\n" for number in range(120)}


@pytest.fixture
def workers():
    return Counting()


async def ask(ripgrep, editor, index, folder, query, kind="", path="", told=None):
    explorer = Explorer(ripgrep, editor, index=index)
    area = area_at(path, folder)
    found = await explorer.symbols(question(query, kind, 5), area, (told or []).append)
    return [(place.path, place.symbol.name, place.symbol.line) for place in found.places], found.total


async def test_only_files_that_hold_the_word_are_taken_apart(ripgrep, editor, workers, project):
    folder = project({**MANY, "other.py": "def thing(): pass\n"})
    index = Index(None, workers)
    found = await ask(ripgrep, editor, index, folder, "MAKE_01")
    assert found[1] == 10
    assert found[0][0] == ("pkg/m010.py", "make_010", 1)
    assert [len(names) for names in workers.given] == [10]
    assert (await ask(ripgrep, editor, index, folder, ""))[1] == 121
    assert [len(names) for names in workers.given] == [10, 111]


async def test_what_is_known_is_not_read_again_and_a_change_is_seen(ripgrep, editor, workers, project, tmp_path):
    folder = project(MANY)
    cache = tmp_path / "cache"
    await ask(ripgrep, editor, Index(cache, workers), folder, "")
    (folder / "pkg/m007.py").write_text("class Renamed: pass\n")
    (folder / "pkg/m008.py").unlink()
    later = Index(cache, workers)
    assert await ask(ripgrep, editor, later, folder, "make_007") == ([], 0)
    assert await ask(ripgrep, editor, later, folder, "make_008") == ([], 0)
    assert await ask(ripgrep, editor, later, folder, "renamed") == ([("pkg/m007.py", "Renamed", 1)], 1)
    assert workers.given[1:] == [["m007.py"]]
    os.utime(folder / "pkg/m009.py", (1, 1))
    assert (await ask(ripgrep, editor, later, folder, ""))[1] == 119
    assert len(workers.given) == 2


async def test_a_damaged_cache_is_no_cache(ripgrep, editor, project, tmp_path):
    folder = project({"a.py": "def go(): pass\n"})
    cache = tmp_path / "cache"
    await ask(ripgrep, editor, Index(cache), folder, "go")
    (file,) = cache.iterdir()
    assert (file.stat().st_mode & 0o077, cache.stat().st_mode & 0o077) == (0, 0)
    file.write_bytes(file.read_bytes()[:40])
    assert await ask(ripgrep, editor, Index(cache), folder, "go") == ([("a.py", "go", 1)], 1)
    assert Cache(cache, folder).load().seen.keys() == {"a.py"}
    cache.chmod(0o500)
    file.unlink(missing_ok=True)
    assert (await ask(ripgrep, editor, Index(cache / "deeper"), folder, "go"))[1] == 1


async def test_equal_names_come_before_parts_and_definitions_before_values(ripgrep, editor, project):
    folder = project(
        {
            "b.py": "runner = 1\nclass Run:\n    def run(self): pass\n",
            "tests/test_a.py": "def run(): pass\n",
            "c.h": "int run(void);\n",
            "c.c": "int run(void) { return 1; }\n",
        }
    )
    places, total = await ask(ripgrep, editor, Index(None), folder, "run")
    assert total == 6
    assert places == [
        ("b.py", "run", 3),
        ("c.c", "run", 1),
        ("tests/test_a.py", "run", 1),
        ("b.py", "Run", 2),
        ("c.h", "run", 1),
    ]
    assert await ask(ripgrep, editor, Index(None), folder, "Run.run") == ([("b.py", "run", 3)], 1)
    assert await ask(ripgrep, editor, Index(None), folder, "run", kind="class") == ([("b.py", "Run", 2)], 1)
    assert await ask(ripgrep, editor, Index(None), folder, "run", path="tests") == ([("test_a.py", "run", 1)], 1)
    assert await ask(ripgrep, editor, Index(None), folder, "run", path="c.c") == ([("c.c", "run", 1)], 1)


async def test_open_text_is_looked_at_as_it_stands_in_the_editor(ripgrep, editor, project):
    folder = project({"a.py": "def old(): pass\n"})
    editor.type(folder / "a.py", "\ndef typed(): pass\n")
    editor.type(folder / "new.py", "def fresh(): pass\n")
    index = Index(None)
    assert await ask(ripgrep, editor, index, folder, "typed") == ([("a.py", "typed", 2)], 1)
    assert await ask(ripgrep, editor, index, folder, "old") == ([], 0)
    editor.close(folder / "a.py")
    assert await ask(ripgrep, editor, index, folder, "old") == ([("a.py", "old", 1)], 1)


async def test_odd_files_are_passed_over(ripgrep, editor, project):
    folder = project(
        {
            "a.py": "def go(): pass\n",
            "b.py": b"\0\1\2",
            "c.py": b"def \xff\xfe(): pass\n",
            "d\ne.py": "def go(): pass\n",
        }
    )
    os.mkfifo(folder / "pipe.py")
    (folder / "link.py").symlink_to("link.py")
    (folder / "big.py").write_bytes(b"")
    os.truncate(folder / "big.py", 1 << 33)
    found = await ask(ripgrep, editor, Index(None, Counting()), folder, "go")
    assert found == ([("a.py", "go", 1), ("d\ne.py", "go", 1)], 2)


async def test_a_process_that_dies_costs_one_file(project, tmp_path):
    folder = project(MANY)
    works = [Work(str(folder / name)) for name in MANY]
    answers = {}
    workers = Workers(2)

    def take(path, parsed):
        answers[path] = parsed.packed.rough
        if len(answers) == 3:
            for child in children():
                os.kill(child, signal.SIGKILL)

    assert await workers.parse(works, take) == 0
    assert set(answers) == {work.path for work in works}
    assert 1 <= sum(answers.values()) <= 2
    workers.close()
    assert children() == []


async def test_a_cancel_ends_the_processes(project):
    folder = project({f"m{number}.py": "x = 1\n" * 20_000 for number in range(60)})
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    works = [Work(str(path)) for path in folder.iterdir()]
    work = asyncio.ensure_future(Workers(2).parse(works, lambda *_: loop.call_soon_threadsafe(began.set)))
    await began.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert children() == []


async def test_what_there_is_no_time_for_is_counted(project):
    folder = project({f"m{number}.py": "def go(): pass\n" * 5_000 for number in range(40)})
    assert await Workers(1, seconds=0.0).parse([Work(str(path)) for path in folder.iterdir()], lambda *_: None) == 40
