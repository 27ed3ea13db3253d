import json
import os
from pathlib import Path

import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.git_words import check

FILE = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent)) / "git_tool.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_git_tool(case):
    assert judged(case["input"]["args"]) == case["expected"]


def judged(words):
    try:
        check(words)
    except ToolRefusal as problem:
        assert problem.error.code == "git_refused"
        return "refused"
    return "allowed"
