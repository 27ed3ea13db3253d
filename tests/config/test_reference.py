import json
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from smith_server.config.environment import from_environment
from smith_server.config.keys import all_keys
from tests.config.test_spellings import AGENT_SMITH, HARNESS

REPO = Path(__file__).resolve().parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(REPO / "tools" / "gen_config.py"))
PAGE: str = TOOL["page"]()
SCHEMA: dict[str, Any] = json.loads(TOOL["schema"]())


def rows() -> dict[str, list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in PAGE.splitlines() if line[:3] == "| `"
    ]
    return {row[0].strip("`"): row for row in cells}


def test_the_reference_and_the_schema_are_in_step_with_the_settings() -> None:
    assert [str(path) for path, _ in TOOL["stale"]()] == []


def test_every_setting_stands_in_the_reference() -> None:
    names = {key.dotted.replace("*", "<name>") for key in all_keys()}
    names = {name if name in rows() else name.replace(name.split(".")[1], "<provider>", 1) for name in names}
    assert names - rows().keys() == set()


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("max_requests", ["a whole number from 1", "`500`", "a lower number"]),
        ("approval.deny", ["a list, each member a text that is not blank; adds up", "`[]`", "free"]),
        ("approval.mode", ['one of "prompt", "auto"', '`"prompt"`', 'only `"prompt"`']),
        ("llm_config.api_key_env", ["a text that is not empty", '`"LLM_API_KEY"`', "never"]),
        ("providers.<provider>.base_url", ["a text that is not empty", "–", "with consent"]),
        ("default_model", ["a text that is not empty", "–", "a model that your own file names"]),
        ("command", ["a text that is not blank", "required", "with consent"]),
    ],
)
def test_a_row_has_type_and_range_default_and_what_a_project_may_do(name: str, row: list[str]) -> None:
    assert rows()[name][1:4] == row


def test_what_nothing_reads_yet_says_so_and_nothing_else_does() -> None:
    told = {name for name, row in rows().items() if row[-1].endswith("**No effect yet.**")}
    without = {key.dotted.replace("*", "<name>") for key in all_keys() if not key.has_effect}
    assert {name for name in told if "<provider>" not in name} == without & rows().keys()


def test_every_variable_that_is_read_stands_in_the_reference() -> None:
    names = [name for name in rows() if name.isupper() and from_environment({name: "1"})]
    assert names == ["SMITH_PROVIDER", "SMITH_MODEL", "SMITH_MODE", "OLLAMA_HOST", "MCP_TOOL_TIMEOUT"]
    assert list(from_environment(dict.fromkeys(["X", *names], "1"))) == names


def problems(schema: dict[str, Any], given: Any, at: str = "") -> list[str]:
    """What a value breaks of a schema, as far as keys and kinds go."""
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if "type" in schema and not isinstance(given, kinds[schema["type"]]):
        return [at]
    if isinstance(given, list):
        return [each for inner in given for each in problems(schema["items"], inner, at)]
    found = []
    for name, inner in given.items() if isinstance(given, dict) else ():
        below = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
        found += [f"{at}.{name}"] if below is False else problems(below, inner, f"{at}.{name}")
    return found


@pytest.mark.parametrize("tree", [json.loads(AGENT_SMITH), tomllib.loads(HARNESS)], ids=["JSON", "TOML"])
def test_the_schema_takes_the_files_that_the_program_takes(tree: dict[str, Any]) -> None:
    assert problems(SCHEMA, tree) == []
    wrong = {"nonsense": 1, "bash": {"timeuot": 1, "timeout": "1"}}
    assert sorted(problems(SCHEMA, {**tree, **wrong})) == [".bash.timeout", ".bash.timeuot", ".nonsense"]


def test_a_stale_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool = runpy.run_path(str(REPO / "tools" / "gen_config.py"))
    (tmp_path / "docs").mkdir()
    tool["stale"].__globals__["REPO"] = tmp_path
    assert tool["main"](["--check"]) == 1
    assert "docs/config.md, docs/config.schema.json" in capsys.readouterr().out
    assert tool["main"]([]) == 0
    assert tool["main"](["--check"]) == 0
    assert (tmp_path / "docs" / "config.md").read_text() == PAGE
