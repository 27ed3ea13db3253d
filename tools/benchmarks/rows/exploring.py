"""Rows 20 to 23: finding lines, files and definitions, on installed packages and on a generated tree."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import trees
from benchmarks.bench import QUICK, Bench
from benchmarks.figures import Pair, Row, against, noted, within

_BUDGET = 17_000
"""Bytes of a result: 16 KiB and its notes."""

_NAMES = ("OrderedDict", "TemporaryDirectory", "JSONDecoder", "deque", "partial")
_MOST_HOLDERS = 200


async def lines(bench: Bench) -> list[Row]:
    """`code_grep` beside plain ripgrep."""
    found = [(folder, await _explored(bench, "grep", folder)) for folder in _folders(bench)]
    rows = []
    for folder, samples in found:
        pair = Pair(samples["product"], samples["floor"])
        rows.append(noted(against("20", f"code_grep, each less 30 ms: {_title(folder)}", pair, 1.3), "four patterns"))
    rows.append(_size("20", "code_grep", [samples for _, samples in found]))
    return rows


async def names(bench: Bench) -> list[Row]:
    """`code_files` in a list that was made before, and the list itself."""
    rows, sizes = [], []
    for folder in _folders(bench):
        samples = await _explored(bench, "files", folder)
        row = within("21", f"code_files, warm: {_title(folder)}", samples["product"], 50)
        rows.append(noted(row, f"the list: {samples['cold']:.0f} ms"))
        sizes.append(samples)
    return [*rows, _size("21", "code_files, code_map", sizes)]


async def definitions(bench: Bench) -> list[Row]:
    """`code_symbols` over source files that nobody has seen, and again."""
    folder = trees.sources(bench.place.file("sources"), bench.scale.sources)
    word, holders = _word(folder)
    samples = await _explored(bench, "symbols", folder, word)
    count = f"{bench.scale.sources} files"
    return [
        noted(
            within("22", f"code_symbols, cold, one name: {count}", samples["name"], 2000), f"{word}: {holders} files"
        ),
        against("22", f"code_symbols, cold, everything: {count}", Pair(samples["everything"], samples["floor"]), 1.2),
        within("22", f"code_symbols, warm: {count}", samples["warm"], 100),
        _size("22", "code_symbols", [samples]),
    ]


async def outlines(bench: Bench) -> list[Row]:
    """`code_outline` of one long file."""
    file = trees.long_file(bench.place.file("long") / "long.py", bench.scale.outline)
    samples = await _explored(bench, "outline", file)
    return [
        within("23", f"code_outline: {bench.scale.outline} lines", samples["product"], 100),
        _size("23", "code_outline", [samples]),
    ]


async def _explored(bench: Bench, kind: str, folder: Path, *more: str) -> Mapping[str, Any]:
    command = bench.place.floor("explore", kind, str(folder), str(bench.few), *more)
    samples: Mapping[str, Any] = json.loads((await bench.place.run(command, seconds=1200)).output)
    return samples


def _folders(bench: Bench) -> list[Path]:
    """The trees; only to see that it works the generated one is enough."""
    installed = [] if bench.scale is QUICK else trees.installed()
    return [*installed, trees.generated(bench.place.file("generated"), bench.scale.files)]


def _title(folder: Path) -> str:
    return {"site-packages": "installed packages", "generated": "generated files"}.get(folder.name, "standard library")


def _word(folder: Path) -> tuple[str, int]:
    """The name that most files hold, of those that few enough do."""
    counts = dict.fromkeys(_NAMES, 0)
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8", "replace").lower()
        for name in _NAMES:
            counts[name] += name.lower() in text
    fitting = {name: count for name, count in counts.items() if count <= _MOST_HOLDERS}
    best = max(fitting or counts, key=lambda name: counts[name])
    return best, counts[best]


def _size(row: str, tool: str, samples: Sequence[Mapping[str, Any]]) -> Row:
    most = max(float(each["most_bytes"]) for each in samples)
    return within(row, f"{tool}: largest result", [statistics.fmean([most])], _BUDGET, "B")
