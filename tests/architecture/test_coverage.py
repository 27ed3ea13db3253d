"""The page of facts cannot name a test that is not there."""

import runpy
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
HERE = "tests/architecture/test_coverage.py"


@pytest.fixture
def tool() -> dict[str, Any]:
    return runpy.run_path(str(REPO / "tools" / "coverage.py"))


def test_a_fact_whose_tests_are_known_is_in_order(tool: dict[str, Any]) -> None:
    page = "# Title\n\nWords.\n\n- A fact.\n  `tests/a.py::test_one`\n  `tests/b.py::test_two`\n"
    assert tool["problems"](page, {"tests/a.py::test_one", "tests/b.py::test_two"}) == []


def test_a_fact_without_a_test_is_told_with_its_line(tool: dict[str, Any]) -> None:
    page = "- A fact.\n\n- Another fact.\n  `tests/a.py::test_one`\n"
    assert tool["problems"](page, {"tests/a.py::test_one"}) == ["line 1: no test is named: - A fact."]


def test_a_test_that_is_not_there_is_told_with_the_one_that_may_be_meant(tool: dict[str, Any]) -> None:
    page = "- A fact.\n  `tests/a.py::test_one_thing`\n"
    assert tool["problems"](page, {"tests/a.py::test_one_thing_more"}) == [
        "line 1: pytest knows no tests/a.py::test_one_thing; is it tests/a.py::test_one_thing_more?"
    ]
    assert tool["problems"](page, {"other"}) == ["line 1: pytest knows no tests/a.py::test_one_thing"]


def test_tests_are_those_that_pytest_collects_whatever_their_parameters(tool: dict[str, Any]) -> None:
    collected = tool["collected"]({HERE, "tests/core/test_errors.py", "tests/gone.py"})
    assert f"{HERE}::test_a_fact_whose_tests_are_known_is_in_order" in collected
    assert "tests/core/test_errors.py::test_only_what_may_pass_by_itself_is_worth_another_try" in collected
    assert not [name for name in collected if "[" in name or "gone" in name]


def test_a_page_of_facts_is_long_and_every_fact_stands_once(tool: dict[str, Any]) -> None:
    facts = [text.partition("`")[0] for _, text in tool["facts"]((REPO / "docs" / "coverage.md").read_text())]
    assert len(facts) > 200
    assert len(facts) == len(set(facts))
