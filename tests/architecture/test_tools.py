"""The entries find what they need, and a test run cannot look better than it is."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]


def executable(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def found_python(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", "-c", f'. "{REPO}/tools/env.sh"; echo "$PYTHON"']
    return subprocess.run(command, env={"PATH": str(folder), **variables}, capture_output=True, text=True, check=False)


def test_a_stub_that_runs_nothing_is_not_taken_for_a_python(tmp_path: Path) -> None:
    executable(tmp_path / "python3.13", "exit 127")
    executable(tmp_path / "python3.12", f'exec "{sys.executable}" "$@"')

    assert found_python(tmp_path).stdout == "python3.12\n"


def test_an_old_python_is_passed_over(tmp_path: Path) -> None:
    executable(tmp_path / "python3.11", "exit 1")
    executable(tmp_path / "python3", f'exec "{sys.executable}" "$@"')

    assert found_python(tmp_path).stdout == "python3\n"


def test_a_python_that_is_named_comes_first(tmp_path: Path) -> None:
    named = executable(tmp_path / "mine", f'exec "{sys.executable}" "$@"')
    executable(tmp_path / "python3", f'exec "{sys.executable}" "$@"')

    assert found_python(tmp_path, PYTHON=str(named)).stdout == f"{named}\n"


def test_without_a_python_the_person_is_told_what_to_install(tmp_path: Path) -> None:
    done = found_python(tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "apt install python3" in done.stderr


@pytest.mark.parametrize(
    ("text", "version"),
    [("echo NVIM v0.11.4", (0, 11)), ("echo NVIM v0.9.5-dev", (0, 9)), ("exit 1", (0, 0))],
    ids=["new enough", "too old", "broken"],
)
def test_the_version_of_a_neovim_is_asked_of_it(
    text: str, version: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(REPO / "tools"))
    start = runpy.run_path(str(REPO / "tools" / "start.py"))

    assert start["version"](str(executable(tmp_path / "nvim", text))) == version


def run_tests(folder: Path, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(REPO / "tests" / "conftest.py", folder / "conftest.py")
    (folder / "test_one.py").write_text(f"import os, pathlib, pytest\n{text}\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  nvim: x\n  emacs: x\n")
    plain = {"PATH": "/nowhere", "CI": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = {**os.environ, **plain, **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


NEEDS_EMACS = "@pytest.mark.emacs\ndef test_it(): pass"
SKIPS = "def test_it(): pytest.skip('later')"
SEES_THE_PERSON = (
    "def test_it():\n"
    "    assert not {'OPENAI_API_KEY', 'SMITH_HOME', 'XDG_DATA_HOME'} & set(os.environ)\n"
    "    assert list(pathlib.Path.home().iterdir()) == []\n"
)


@pytest.mark.parametrize(
    ("text", "variables", "code", "word"),
    [
        (NEEDS_EMACS, {}, 0, "emacs is not installed"),
        (NEEDS_EMACS, {"CI": "true"}, 0, "1 passed"),
        (SKIPS, {}, 0, "1 skipped"),
        (SKIPS, {"CI": "true"}, 1, "1 skipped"),
        (
            SEES_THE_PERSON,
            {"OPENAI_API_KEY": "k", "SMITH_HOME": "/nowhere", "XDG_DATA_HOME": "/nowhere"},
            0,
            "1 passed",
        ),
    ],
    ids=["missing program", "missing program in CI", "skip", "skip in CI", "keys and places of the person"],
)
def test_a_run_skips_visibly_and_in_ci_not_at_all(
    text: str, variables: dict[str, str], code: int, word: str, tmp_path: Path
) -> None:
    done = run_tests(tmp_path, text, **variables)

    assert word in done.stdout
    assert done.returncode == code
