"""The program's exploration in one process, in turn with a floor where there is one; samples as JSON.

`explore.py grep|files|symbols|outline FOLDER RUNS [WORD]`. Milliseconds.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from smith_server.codebase.index import is_source
from smith_server.core.cancel import CancelToken
from smith_server.core.tool import Tool, ToolContext
from smith_server.proc.looking import Lookout
from smith_server.proc.programs import bundled
from smith_server.runtime.unattended import NoEditor
from smith_server.tools.code_files import CodeFiles
from smith_server.tools.code_grep import CodeGrep
from smith_server.tools.code_map import CodeMap
from smith_server.tools.code_outline import CodeOutline
from smith_server.tools.code_symbols import CodeSymbols
from smith_server.tools.exploring import Around, Exploring, Known

HERE = Path(__file__).parent
ALLOWED = 30.0
PATTERNS = ("OrderedDict", r"def \w+_async\b", "return", "no_such_word_anywhere")
QUERIES = ("config", "*.py", "cfgprs", "**/test_[a-c]*.py", "no_such_name")


def explorer(known: Known | None = None) -> Exploring:
    """One turn's exploration."""
    home = Path.home()
    return Exploring(Around(Lookout, NoEditor(), (), home, home, tuple, known or Known(None)))


async def said(tool: Tool, folder: Path, **arguments: Any) -> str:
    """What the model would read."""
    args = msgspec.convert(arguments, tool.args)
    context = ToolContext("bench", CancelToken(), folder, lambda _: None)
    return (await tool.run(args, context)).content


async def loaded() -> None:
    """The first call in a process loads what explores; that is not what is measured."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.py"
        file.write_text("def a(): pass\n")
        for tool, arguments in (
            (CodeGrep(explorer()), {"pattern": "a"}),
            (CodeFiles(explorer()), {"query": "a"}),
            (CodeSymbols(explorer()), {"query": "a"}),
            (CodeMap(explorer()), {}),
            (CodeOutline(explorer()), {"path": "a.py"}),
        ):
            await said(tool, file.parent, **arguments)


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds that it takes."""
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def grep(folder: Path, runs: int) -> dict[str, Any]:
    """All patterns beside plain ripgrep with the same matches; what is allowed on top is taken off."""
    product, floor, sizes = list[float](), list[float](), list[int]()
    plain(folder, PATTERNS[0])  # so that both find the files in memory
    for _ in range(runs):
        taken = [await timed(partial(said, CodeGrep(explorer()), folder, pattern=pattern)) for pattern in PATTERNS]
        product.append(sum(max(each - ALLOWED, 0.0) for each in taken))
        floor.append(sum(plain(folder, pattern) for pattern in PATTERNS))
    for pattern in PATTERNS:
        sizes.append(len((await said(CodeGrep(explorer()), folder, pattern=pattern, max=500, context=3)).encode()))
    return {"product": product, "floor": floor, "most_bytes": max(sizes)}


def plain(folder: Path, pattern: str) -> float:
    """Milliseconds of plain ripgrep."""
    command = [str(bundled("rg")), "--no-config", "--no-require-git", "--line-number", "--regexp", pattern, "./"]
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return (time.perf_counter() - began) * 1000


async def files(folder: Path, runs: int) -> dict[str, Any]:
    """Names in a list that is there already."""
    tool = CodeFiles(explorer())
    cold = await timed(lambda: said(tool, folder, query="*.first"))
    texts = [await said(tool, folder, query=query, limit=500) for query in QUERIES[:-1]]
    warm = [await timed(partial(said, tool, folder, query=query)) for _ in range(runs) for query in QUERIES[:-1]]
    overview = await said(CodeMap(explorer()), folder)
    return {"product": warm, "cold": cold, "most_bytes": max(len(text.encode()) for text in (*texts, overview))}


async def symbols(folder: Path, runs: int, word: str) -> dict[str, Any]:
    """Cold for one name, cold for everything beside the floor, warm."""
    name, everything, floor, warm = (list[float]() for _ in range(4))
    for _ in range(runs):
        name.append(await timed(lambda: said(CodeSymbols(explorer(Known(None))), folder, query=word)))
        with tempfile.TemporaryDirectory() as cache:
            everything.append(await timed(lambda: said(CodeSymbols(explorer(Known(Path(cache)))), folder, query="")))
            floor.append(bare(folder))
            later = explorer(Known(Path(cache)))
            await said(CodeSymbols(later), folder, query=word)
            again = partial(said, CodeSymbols(later), folder, query=word)
            warm += [await timed(again) for _ in range(5)]
            size = len((await said(CodeSymbols(later), folder, query="a", limit=300)).encode())
    return {"name": name, "everything": everything, "floor": floor, "warm": warm, "most_bytes": size}


def bare(folder: Path) -> float:
    """The same files with bare tree-sitter in as many processes as there are processors."""
    paths = [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and is_source(str(path))]
    count = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as lists:
        commands = []
        for index in range(count):
            part = Path(lists) / str(index)
            part.write_text("\n".join(paths[index::count]))
            commands.append([sys.executable, str(HERE / "trees.py"), str(part), "python"])
        began = time.perf_counter()
        processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
        for process in processes:
            process.wait()
        return (time.perf_counter() - began) * 1000


async def outline(file: Path, runs: int) -> dict[str, Any]:
    """One long file."""
    tool = CodeOutline(explorer())
    text = await said(tool, file.parent, path=file.name)
    taken = [await timed(lambda: said(tool, file.parent, path=file.name)) for _ in range(runs)]
    return {"product": taken, "most_bytes": len(text.encode())}


if __name__ == "__main__":
    kind, where, times, *more = sys.argv[1:]
    works: dict[str, Callable[..., Coroutine[Any, Any, dict[str, Any]]]] = {
        "grep": grep,
        "files": files,
        "symbols": symbols,
        "outline": outline,
    }
    asyncio.run(loaded())
    print(json.dumps(asyncio.run(works[kind](Path(where), int(times), *more))))
