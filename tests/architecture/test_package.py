"""What a person gets who installs the built package."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    repo = Path(__file__).resolve().parents[2]
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_package_carries_every_file_that_it_reads(wheel: zipfile.ZipFile, repo: Path) -> None:
    packed = {name for name in wheel.namelist() if name.startswith("smith_server/")}
    files = [path.relative_to(repo) for path in (repo / "smith_server").rglob("*") if path.is_file()]

    assert packed == {path.as_posix() for path in files if "__pycache__" not in path.parts}


def test_the_package_brings_the_command(wheel: zipfile.ZipFile) -> None:
    entry = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))

    assert "smith = smith_server.cli.main:main" in wheel.read(entry).decode()
