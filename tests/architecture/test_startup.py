"""What only tells about the program loads nothing heavy and touches no file."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from smith_server import __version__

REPO = Path(__file__).resolve().parents[2]
HEAVY = {
    "apsw",
    "asyncio",
    "httpx",
    "lsprotocol",
    "msgpack",
    "msgspec",
    "platformdirs",
    "prompt_toolkit",
    "pygls",
    "pynvim",
    "rich",
    "tree_sitter",
}


def smith(argument: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "smith_server", argument]
    variables = {**os.environ, "HOME": str(home), "PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=variables, cwd=home, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_telling_about_itself_imports_nothing_heavy(argument: str, tmp_path: Path) -> None:
    done = smith(argument, tmp_path)
    imported = {name.strip().partition(".")[0] for name in re.findall(r"\| +\d+ \| (.*)", done.stderr)}

    assert done.returncode == 0, done.stderr
    assert "smith_server" in imported
    assert imported & HEAVY == set()
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_the_one_of_the_package(tmp_path: Path) -> None:
    assert __version__ in smith("--version", tmp_path).stdout
