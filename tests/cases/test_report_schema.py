"""The reports of the case data: what is put right, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.core.errors import ToolRefusal
from smith_server.core.report import read_report

FILE = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent)) / "report_schema.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_report_is_taken_as_the_case_says(case: dict[str, Any]) -> None:
    given = case["input"]
    try:
        report = read_report(given["role"], given["args"])
    except ToolRefusal as problem:
        found: dict[str, Any] = {"ok": False, "field": problem.error.data["field"]}
    else:
        found = {"ok": True, "report": json.loads(msgspec.json.encode(report))}
    assert found == case["expected"]
