"""The demo happens, with nothing of whoever runs it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def command() -> list[str]:
    """The entry itself where the tests run in its environment; else what it becomes."""
    if Path(sys.prefix) == REPO / ".venv":
        return [str(REPO / "tools" / "try"), "demo"]
    return [sys.executable, str(REPO / "tools" / "demo" / "run.py"), shutil.which("nvim") or "nvim"]


@pytest.mark.nvim
def test_the_demo_runs_through_with_an_empty_home_and_the_paths_of_the_system(tmp_path: Path) -> None:
    variables = {
        "HOME": str(tmp_path),
        "PATH": SYSTEM,
        "PYTHONPATH": str(REPO),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    }
    done = subprocess.run(
        command(), env=variables, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("checked: ") == 18
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert "tools/demo/script.json" in done.stdout
    assert [path.name for path in tmp_path.iterdir() if path.name != ".cache"] == []
