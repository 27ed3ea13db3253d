"""What only tells about the program loads nothing heavy and touches no file; a run loads what it needs."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

from smith_server import __version__

REPO = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS: list[str] = CONTRACTS[0]["layers"]
FLOORS = {name.strip(" ()"): floor for floor, layer in enumerate(reversed(LAYERS)) for name in layer.split("|")}
HEAVY = {
    "apsw",
    "asyncio",
    "httpx",
    "lsprotocol",
    "msgpack",
    "msgspec",
    "platformdirs",
    "prompt_toolkit",
    "pygls",
    "pynvim",
    "rich",
    "tree_sitter",
}
LATE = {
    "difflib",
    "logging.handlers",
    "smith_server.codebase",
    "smith_server.config.lines",
    "smith_server.config.overrides",
    "smith_server.config.salvage",
    "smith_server.llm.anthropic_request",
    "smith_server.llm.anthropic_stream",
    "smith_server.llm.model_facts",
    "smith_server.llm.openai_request",
    "smith_server.llm.openai_stream",
    "smith_server.llm.probe",
    "smith_server.policy.denied",
    "smith_server.proc",
    "smith_server.runtime.commands.table",
    "smith_server.runtime.following",
    "smith_server.runtime.jobs",
    "smith_server.runtime.replay",
    "smith_server.runtime.shells",
    "smith_server.store.export",
    "smith_server.store.follow",
    "smith_server.store.fork",
    "smith_server.store.jobs",
    "smith_server.store.messages",
    "smith_server.store.pages",
    "smith_server.store.repair",
    "smith_server.store.search",
    "smith_server.tools.bash",
    "smith_server.tools.edit",
    "smith_server.tools.git",
    "smith_server.tools.read",
    "smith_server.tools.web_engines",
    "smith_server.tools.web_fetch",
    "smith_server.tools.web_guard",
    "smith_server.workspace.git",
    "smith_server.workspace.texts",
}
"""What one prompt without calls needs nothing of; see `core/late.py`. It would add to the start of every run."""
MOST_OWN = 185
"""Modules of ours that such a run may load: each costs a start 0.15 ms."""


def smith(*words: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", "-m", "smith_server", *words]
    variables = {**os.environ, "HOME": str(home), "PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1", **more}
    return subprocess.run(command, env=variables, cwd=home, capture_output=True, text=True, check=False)


def loaded(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {name.strip() for name in re.findall(r"\| +\d+ \| (.*)", done.stderr)}


def test_a_run_of_one_prompt_loads_no_part_that_it_does_not_use(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"replies": [[{"text": "Hello."}]]}')
    done = smith("run", "hello", home=tmp_path, SMITH_PROVIDER="scripted", SMITH_SCRIPT=str(script))
    imported = loaded(done)

    assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr
    assert imported & (LATE | HEAVY - {"apsw", "asyncio", "msgpack", "msgspec", "platformdirs"}) == set()
    assert len([name for name in imported if name.startswith("smith_server")]) <= MOST_OWN


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_telling_about_itself_imports_nothing_heavy(argument: str, tmp_path: Path) -> None:
    done = smith(argument, home=tmp_path)
    imported = {name.partition(".")[0] for name in loaded(done)}

    assert done.returncode == 0, done.stderr
    assert "smith_server" in imported
    assert imported & HEAVY == set()
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_the_one_of_the_package(tmp_path: Path) -> None:
    assert __version__ in smith("--version", home=tmp_path).stdout


def test_everything_that_is_loaded_late_is_there_and_on_no_higher_floor() -> None:
    places = [
        (file.relative_to(REPO).parts[1], place)
        for file in REPO.glob("smith_server/**/*.py")
        for place in re.findall(r'late\(\s*"([\w.]+:[\w.]+)"', file.read_text("utf-8"))
    ]
    assert len(places) > 40
    for package, place in places:
        module, _, name = place.partition(":")
        assert callable(attrgetter(name)(import_module(module))), place
        if module.startswith("smith_server."):
            other = module.split(".")[1]
            assert other == package or FLOORS[other] < FLOORS[package], f"{package} may not know {place}"
