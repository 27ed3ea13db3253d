import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import living

REPO = Path(__file__).resolve().parents[2]


def bench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(REPO / "tools"), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_row_of_the_page_is_measured_or_said_to_be_missing_and_nothing_is_left(tmp_path: Path) -> None:
    done = bench(tmp_path, "--quick", "--json", str(tmp_path / "result.json"))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    measured = {row["row"] for row in result["rows"]}
    page = (REPO / "docs" / "performance.md").read_text()
    assert measured | set(result["not_measured"]) == set(re.findall(r"^\| (\d+) \|", page, re.M))
    assert measured >= {str(row) for row in (*range(1, 13), *range(15, 24))}
    assert [row["measure"] for row in result["rows"] if row["measure"] not in done.stdout] == []
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert living(str(tmp_path)) == []


def test_a_row_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = bench(tmp_path, "--rows", "3,99")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("not measured: 99; there are 1, 2, 3,")
