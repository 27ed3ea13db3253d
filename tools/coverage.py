"""Checks `docs/coverage.md`: every fact in it names tests, and pytest knows each of them.

Standard library only; pytest collects the files that are named, once.
"""

import difflib
import os
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
PAGE = REPO / "docs" / "coverage.md"
_TEST = re.compile(r"`(tests/[^`]+?\.py)::(\w+)`")


def facts(text: str) -> list[tuple[int, str]]:
    """The list items of a page, each with the number of its first line; lines that go on are joined."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("- "):
            found.append((number, line))
        elif line.startswith("  ") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


def named(fact: str) -> list[str]:
    """The tests that a fact names, as `file::test`."""
    return [f"{path}::{test}" for path, test in _TEST.findall(fact)]


def problems(text: str, known: Collection[str]) -> list[str]:
    """What is wrong with a page, a line each, given the tests that exist."""
    wrong = []
    for number, fact in facts(text):
        tests = named(fact)
        if not tests:
            wrong.append(f"line {number}: no test is named: {fact[:80]}")
        wrong += [f"line {number}: {_unknown(test, known)}" for test in tests if test not in known]
    return wrong


def _unknown(test: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(test, known, 1, 0.6)
    return f"pytest knows no {test}" + (f"; is it {near[0]}?" if near else "")


def collected(files: Collection[str]) -> set[str]:
    """The tests in these files, as `file::test` without parameters. Raises `RuntimeError` when pytest fails."""
    there = sorted(name for name in files if (REPO / name).is_file())
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*command, "-o", "addopts=-p no:llmock", "--verbosity=-1", *there],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"pytest could not collect:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    lines = (line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line)
    return {f"{line.partition('::')[0]}::{line.rpartition('::')[2]}" for line in lines}


def main() -> int:
    """Print what is wrong with the page; the exit code is 0 when nothing is."""
    text = PAGE.read_text()
    files = {test.partition("::")[0] for _, fact in facts(text) for test in named(fact)}
    try:
        wrong = problems(text, collected(files))
    except RuntimeError as problem:
        wrong = [str(problem)]
    print("\n".join(wrong) or f"{len(facts(text))} facts, each with its test")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
