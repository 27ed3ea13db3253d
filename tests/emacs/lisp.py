"""Where the Lisp is, and how a real Emacs runs it in batch."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.e2e.world import REPOSITORY, World

PACKAGE = REPOSITORY / "editors" / "emacs"
TESTS = PACKAGE / "test"
VECTORS = REPOSITORY / "tests" / "vectors"
TURNS = REPOSITORY / "tests" / "golden" / "turns"
SECONDS = 60
QUIET = ("--eval", "(setq native-comp-deferred-compilation nil)")
"""A fresh home has nothing compiled, and Emacs would begin to compile all that it loads."""


def find_emacs() -> str:
    """The Emacs on the path."""
    found = shutil.which("emacs")
    assert found, "these tests need Emacs"
    return found


def compiled(folder: Path) -> Path:
    """The package in `folder`, byte-compiled, as a person has it who installed it."""
    folder.mkdir()
    for path in files():
        shutil.copy(path, folder)
    command = [find_emacs(), "-Q", "--batch", *QUIET, "-L", folder, "-f", "batch-byte-compile", *folder.glob("*.el")]
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=SECONDS)
    return folder


def batch(arguments: Sequence[str | Path], folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Emacs with nothing of the person's in it; stderr is where its messages go."""
    command = [find_emacs(), "-Q", "--batch", *QUIET, "-L", PACKAGE, "-L", TESTS, *arguments]
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def files() -> list[Path]:
    """The files of the package."""
    return sorted(PACKAGE.glob("*.el"))


def tests() -> Iterator[tuple[str, str]]:
    """File and name of every test that is written in Lisp."""
    for path in sorted(TESTS.glob("*-test.el")):
        for name in re.findall(r"^\(ert-deftest (\S+)", path.read_text(), re.M):
            yield path.name, name


def run_test(world: World, file: str, name: str) -> None:
    """Run one test in an Emacs of its own, in the project of `world`."""
    world.script()
    world.settings('[approval]\nmode = "auto"\n')
    environ = {
        **world.environ,
        "SMITH_TEST_PYTHON": sys.executable,
        "SMITH_TEST_VECTORS": str(VECTORS),
        "SMITH_TEST_TURNS": str(TURNS),
    }
    run = f'(ert-run-tests-batch-and-exit "\\\\`{name}\\\\\'")'
    done = batch(["-l", TESTS / file, "--eval", run], world.root, environ)
    assert "Ran 1 tests" in done.stdout, done.stdout
    assert done.returncode == 0, done.stdout
