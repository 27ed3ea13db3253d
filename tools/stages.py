"""The static checks, by name: what `tools/test`, `tools/check` and the commit hooks run.

Standard library only; the checks themselves run in the private environment.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import environment
import programs

REPO = environment.REPO
PYTHON = str(environment.PYTHON)
Command = list[str]


def module(*words: str) -> Callable[[], list[Command]]:
    """A check that is one Python module with arguments."""
    return lambda: [[PYTHON, "-m", *words]]


def generated() -> list[Command]:
    """Every generator, asked whether its output in the tree is what it would write now."""
    return [[PYTHON, str(path), "--check"] for path in sorted(REPO.glob("tools/gen_*.py"))]


def lua(*words: str) -> Callable[[], list[Command]]:
    """A check of the Lua files, when there are any."""
    return lambda: [[*words, "editors/nvim"]] if any(REPO.glob("editors/nvim/**/*.lua")) else []


def lisp() -> list[Command]:
    """Each Lisp file byte-compiled with warnings as errors, and its documentation strings."""
    files = [str(path) for path in sorted(REPO.glob("editors/emacs/*.el"))]
    emacs = ["emacs", "-Q", "--batch", "-L", "editors/emacs"]
    elsewhere = '(lambda (_) (make-temp-file "smith" nil ".elc"))'
    strict = f"(setq byte-compile-error-on-warn t byte-compile-dest-file-function {elsewhere})"
    prose = "(dolist (file command-line-args-left) (checkdoc-file file))"
    checks = [["--eval", strict, "-f", "batch-byte-compile", *files], ["--eval", prose, *files]]
    return [[*emacs, *check] for check in checks] if files else []


STAGES: dict[str, Callable[[], list[Command]]] = {
    "ruff": module("ruff", "check", "--quiet", "."),
    "format": module("ruff", "format", "--check", "--quiet", "."),
    "types": module("mypy", "--no-error-summary", "smith_server", "tools"),
    "floors": lambda: [[str(environment.VENV / "bin" / "lint-imports")]],
    "sizes": lambda: [[PYTHON, "tools/sizes.py"]],
    "generated": generated,
    "coverage": lambda: [[PYTHON, "tools/coverage.py"]],
    "luacheck": lua("luacheck", "--quiet", "--no-color", "--config", "editors/nvim/.luacheckrc"),
    "stylua": lua("stylua", "--check"),
    "lisp": lisp,
}
NEEDS = {"luacheck": "luacheck", "stylua": "stylua", "lisp": "emacs"}
SHOWN = ("sizes",)
"""Stages whose output is worth reading when they pass."""


def run(names: Sequence[str]) -> list[str]:
    """Run these stages, a line each; the names of those that failed."""
    return [name for name in names if not _passes(name)]


def in_ci() -> bool:
    """Whether nothing may be skipped."""
    return os.environ.get("CI", "").lower() in ("1", "true")


def line(name: str, word: str, began: float) -> None:
    """One line of progress: what, how it went, seconds since `began`."""
    print(f"{name:<12} {word:<9} {time.monotonic() - began:6.1f} s", flush=True)


def _passes(name: str) -> bool:
    began = time.monotonic()
    commands = STAGES[name]()
    program = NEEDS.get(name)
    if commands and program and not programs.found(program):
        line(name, "FAILED" if in_ci() else "SKIPPED", began)
        print(f"  {program} is missing")
        return not in_ci()
    texts = []
    with tempfile.TemporaryDirectory() as scratch:
        failed = False
        for command in commands:
            code, text = _output(command, scratch)
            failed = failed or code != 0 or (name == "lisp" and "Warning" in text)
            texts.append(text)
    line(name, "FAILED" if failed else "ok" if commands else "nothing", began)
    if failed or name in SHOWN:
        print("\n".join(text.rstrip() for text in texts), flush=True)
    return not failed


def _output(command: Command, scratch: str) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=REPO,
        env={**environment.variables(), "TMPDIR": scratch},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def main(names: Sequence[str]) -> int:
    """Run the stages named, or all of them."""
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        print(f"unknown check {unknown[0]!r}; there are: {', '.join(STAGES)}", file=sys.stderr)
        return 2
    try:
        environment.ensure("test")
    except environment.SetupFailed as problem:
        print(problem, file=sys.stderr)
        return 1
    return 1 if run(names or list(STAGES)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
