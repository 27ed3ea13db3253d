"""Row 24: definitions beside those that Universal Ctags finds in the same real files."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks import corpus
from benchmarks.bench import QUICK, Bench
from benchmarks.figures import Row, noted, reaching
from smith_server.codebase.definer import definitions

_NAMES = {"bash": "Sh", "cpp": "C++", "javascript": "JavaScript", "typescript": "TypeScript", "tsx": "TypeScript"}
_KINDS = frozenset({"function", "class", "method", "singletonMethod", "func", "methodSpec"})
_MADE_UP = re.compile(r"__anon|anonymous|AnonymousFunction")
_LEAST = 95
_ENOUGH = 200
"""Files that have to be compared."""


class Compared(Struct, frozen=True):
    """Of one language: files, definitions that ctags tells, how many of them are found."""

    files: int
    told: int
    found: int

    @property
    def share(self) -> float:
        return 100 * self.found / self.told if self.told else 100.0


def missing() -> str:
    """Why this cannot be measured, or ""."""
    found = shutil.which("ctags")
    features = (
        subprocess.run([found, "--list-features"], capture_output=True, text=True, check=False) if found else None
    )
    return "" if features and "json" in features.stdout else "needs Universal Ctags with JSON (universal-ctags)"


async def recall(bench: Bench) -> list[Row]:
    """The share of ctags' functions, classes and methods that are found, by language and in all."""
    chosen = corpus.chosen(bench.scale.compared, fetch=bench.scale is not QUICK)
    compared = {language: _compared(language, paths) for language, paths in chosen.items()}
    total = Compared(*(sum(getattr(each, field) for each in compared.values()) for field in Compared.__struct_fields__))
    enough = total.files >= _ENOUGH or bench.scale is QUICK
    rows = [_row(f"definitions of ctags found: {name}", each, None) for name, each in compared.items()]
    return [*rows, _row("definitions of ctags found: all", total, _LEAST if enough else None)]


def _row(measure: str, each: Compared, limit: float | None) -> Row:
    return noted(reaching("24", measure, each.share, limit), f"{each.found} of {each.told} in {each.files} files")


def _compared(language: str, paths: Sequence[Path]) -> Compared:
    told = found = 0
    for path in paths:
        theirs = set(_tags(language, path))
        ours = {(each.line, _bare(each.name)) for each in definitions(_named(language, path), path.read_bytes())}
        told += len(theirs)
        found += len(theirs & ours)
    return Compared(len(paths), told, found)


def _tags(language: str, path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each function, class and method that ctags tells."""
    spoken = _NAMES.get(language, language.capitalize())
    words = ["--output-format=json", "--fields=+nK", "--sort=no", f"--language-force={spoken}", "-f", "-"]
    done = subprocess.run(["ctags", *words, str(path)], capture_output=True, check=False)
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        tag = json.loads(line)
        if tag.get("kind") in _KINDS and not _MADE_UP.match(tag["name"]):
            yield tag["line"], _bare(tag["name"])


def _named(language: str, path: Path) -> str:
    return f"{path}.hpp" if language == "cpp" and path.suffix == ".h" else str(path)


def _bare(name: str) -> str:
    """The last part of a name, without quotes and blanks."""
    return re.split(r"::|[.:]", name.replace(" ", "").strip("\"'"))[-1]
