"""What holds for every test: an empty home, no keys of whoever runs it, nothing skipped in CI."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings

PROGRAMS = {"nvim": ("nvim",), "emacs": ("emacs",), "kitty": ("kitty", "Xvfb"), "aimock": ("aimock", "node")}
"""What a marker needs."""

MODEL = Path(__file__).resolve().parent.parent / ".cache" / "model"
KEPT = ("SMITH_CASES_DIR",)
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")
HOME = pytest.StashKey[str]()

# How long an example takes says more about the machine than about the code. A person's runs look at ever new
# examples, a run that decides about a change always at the same ones.
settings.register_profile("smith", deadline=None, derandomize=IN_CI)
settings.load_profile("smith")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "serial: runs alone, because it measures time or fills the machine")
    config.addinivalue_line("markers", "slow: takes more than a few seconds")
    # Started in the background, we were told to ignore Ctrl-C; the programs under test are not.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    home = config.stash[HOME] = tempfile.mkdtemp(prefix="smith-home-")
    for name in [name for name in os.environ if _is_personal(name)]:
        del os.environ[name]
    os.environ["HOME"] = home
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[HOME], ignore_errors=True)


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Outside CI a test whose program is missing is skipped with its name; in CI it runs and fails."""
    if IN_CI:
        return
    missing = [name for name, needed in PROGRAMS.items() if not all(map(shutil.which, needed))]
    if not MODEL.is_dir():
        missing.append("model")
    for item in items:
        for name in missing:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"{name} is not installed; tools/test tells how to get it"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure of the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _is_personal(name: str) -> bool:
    ours = name.startswith("SMITH_") and name not in KEPT
    places = name.startswith("XDG_") or name in ("NVIM", "NVIM_APPNAME", "OLLAMA_HOST")
    return ours or places or name.endswith(("_API_KEY", "_api_key")) or name.lower().endswith("_proxy")


@pytest.fixture
def repo() -> Path:
    """The checkout under test."""
    return Path(__file__).resolve().parent.parent
