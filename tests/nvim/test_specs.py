import os
import subprocess
from pathlib import Path

import pytest

from tests.nvim.editor import PLUGIN, find_nvim

pytestmark = pytest.mark.nvim

SPECS = sorted((PLUGIN / "tests").glob("*_spec.lua"))
MODULES = sorted((PLUGIN / "lua").rglob("*.lua"))
FLOORS = [
    ("config", "protocol", "waiting", "ready", "text", "wire", "help", "state", "blocks"),
    ("log", "plan", "apply", "buffers", "changes", "context"),
    ("edit", "reload", "client", "attach"),
    ("sequence", "session", "view"),
    ("keymaps", "chats", "slash", "complete"),
    ("questions",),
    ("actions",),
    ("commands", "init", "health"),
]


def run_lua(path: Path, project: Path) -> subprocess.CompletedProcess[str]:
    command = [find_nvim(), "--headless", "-u", "NONE", "-i", "NONE", "-l", str(path)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_the_lua_spec_passes(spec: Path, project: Path) -> None:
    done = run_lua(spec, project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed, 0 failed" in done.stdout + done.stderr


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PLUGIN / "lua")))
def test_every_module_loads_alone_and_makes_no_global(module: Path, project: Path, tmp_path: Path) -> None:
    name = str(module.relative_to(PLUGIN / "lua").with_suffix("")).replace(os.sep, ".").removesuffix(".init")
    script = tmp_path / "load.lua"
    script.write_text(
        f"""
        vim.opt.runtimepath:prepend({str(PLUGIN)!r})
        local before = vim.tbl_keys(_G)
        local module = require({name!r})
        assert(type(module) == 'table', 'a module is a table')
        for key in pairs(_G) do
          assert(vim.list_contains(before, key), 'a global: ' .. tostring(key))
        end
        """
    )
    done = run_lua(script, project)
    assert (done.returncode, done.stderr) == (0, "")


def floor_of(name: str) -> int:
    """The floor that a module stands on; what is in a folder stands where the folder does."""
    head = name.removeprefix("smith.").split(".")[0]
    return next(number for number, names in enumerate(FLOORS) if (head or "init") in names)


def test_modules_use_only_what_stands_on_their_floor_or_below() -> None:
    upward = []
    for module in MODULES:
        name = str(module.relative_to(PLUGIN / "lua").with_suffix("")).replace(os.sep, ".").removesuffix(".init")
        if name == "smith":
            continue
        for line in module.read_text().splitlines():
            if "= require('smith." in line and not line.startswith(" "):
                used = line.split("'")[1]
                if floor_of(used) > floor_of(name):
                    upward.append(f"{name} uses {used}")
    assert upward == []


def test_no_file_and_no_function_is_too_long() -> None:
    long = [path.name for path in MODULES if len(path.read_text().splitlines()) > 300]
    for path in MODULES:
        began, lines = 0, path.read_text().splitlines()
        for number, line in enumerate(lines):
            if line.startswith(("function ", "local function ")):
                began = number
            elif line == "end" and number - began > 40:
                long.append(f"{path.name}:{began + 1}")
    assert long == []
