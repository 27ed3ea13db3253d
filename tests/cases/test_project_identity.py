"""The origins of the case data: one spelling per repository, and its id."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from smith_server.workspace.origin import project_id, read_origin

FILE = Path(os.environ.get("SMITH_CASES_DIR", Path(__file__).parent)) / "project_identity.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_an_origin_has_the_identity_that_the_case_says(case: dict[str, Any]) -> None:
    given = case["input"]

    origin = read_origin(given["origin"], Path(given["repo_root"]))

    canonical = origin.canonical if origin else ""
    assert {"canonical": canonical or None, "project_id": project_id(canonical) or None} == case["expected"]
