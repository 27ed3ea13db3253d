"""What is written about the project is so."""

import os
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from smith_server import __version__
from smith_server.config.layers import load
from smith_server.config.paths import places

REPO = Path(__file__).resolve().parents[2]
PAGES = sorted([*REPO.glob("*.md"), *REPO.glob("docs/**/*.md")])
TOP = ("smith_server", "editors", "tests", "docs", "tools", "core", "lsp", ".ci")


def page_names(path: Path) -> str:
    return str(path.relative_to(REPO))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.mark.parametrize("page", PAGES, ids=page_names)
def test_every_link_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_names)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", page.read_text())
    ours = [name for name in named if name.partition("/")[0] in TOP]
    missing = [name for name in ours if not ((REPO / name).exists() or (REPO / "smith_server" / name).exists())]

    assert missing == []


def test_every_decision_is_in_the_table_of_the_contributors() -> None:
    records = {path.name for path in REPO.glob("docs/decisions/*.md")}
    listed = set(re.findall(r"\(docs/decisions/([^)]+)\)", (REPO / "AGENTS.md").read_text()))

    assert listed == records


def test_the_picture_of_the_floors_is_the_contract() -> None:
    contracts = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "floors")
    present = {path.parent.name for path in REPO.glob("smith_server/*/__init__.py")}
    floors = [[name for name in re.findall(r"\w+", layer) if name in present] for layer in layers]
    lines = blocks(REPO / "docs" / "architecture.md", "")[0].splitlines()
    drawn = [re.findall(r"\w+", re.split(r"  +", line)[0]) for line in lines]
    drawn = [[name for name in names if name in present] for names in drawn]

    assert drawn == [floor for floor in floors if floor]


def test_the_example_of_a_configuration_is_accepted(tmp_path: Path) -> None:
    example = tmp_path / "config.toml"
    example.write_text(blocks(REPO / "README.md", "toml")[0])

    assert load(places({}, tmp_path), tmp_path, {}, {}, explicit=example).problems == ()


def test_the_commands_of_the_pages_are_there_and_can_be_run() -> None:
    shown = "\n".join(block for page in PAGES for block in blocks(page, "sh"))
    commands = set(re.findall(r"(?:^|/)(tools/\w+)", shown, re.M))

    assert commands >= {"tools/try", "tools/test", "tools/check"}
    assert [name for name in sorted({*commands, ".ci/run"}) if not os.access(REPO / name, os.X_OK)] == []


def test_the_commit_hooks_are_the_static_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPO / "tools"))
    stages = runpy.run_path(str(REPO / "tools" / "stages.py"))["STAGES"]
    hooks = re.findall(r"entry: tools/check (\w+)", (REPO / ".pre-commit-config.yaml").read_text())

    assert hooks == list(stages)


def test_the_changelog_has_a_place_for_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (REPO / "CHANGELOG.md").read_text(), re.M)

    assert headings[0] == "Unreleased"
    assert headings[1:2] in ([], [__version__])
