"""Imports go down the floors and never sideways."""

import subprocess
import sys
import tomllib
from pathlib import Path


def test_no_import_goes_up_or_sideways(repo: Path) -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


def test_every_package_stands_on_one_floor(repo: Path) -> None:
    contracts = tomllib.loads((repo / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "floors")
    named = [name.strip(" ()") for layer in layers for name in layer.split("|")]
    packages = {path.parent.name for path in repo.glob("smith_server/*/__init__.py")}

    assert len(named) == len(set(named))
    assert packages - set(named) == set()
