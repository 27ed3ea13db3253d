"""Programs that come from elsewhere than PyPI: which the tests need, which are missing, how to get them.

Standard library only: this runs before anything is installed.
"""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).resolve().parent.parent
VENV = REPO / ".venv"
NODE_HOME = REPO / ".cache" / "node"


class Program(NamedTuple):
    """A command and the package that brings it: for Debian and Homebrew, or from npm.

    What is no command is there when a file below the root matches `files`.
    """

    name: str
    system: str = ""
    npm: str = ""
    files: str = ""

    @property
    def source(self) -> str:
        return f"npm package {self.npm}" if self.npm else f"system package {self.system}"


EMACS = "emacs-nox" if platform.system() == "Linux" else "emacs"
PACKAGE_LINT = "usr/share/emacs/site-lisp/elpa*/package-lint*"
LUACHECK = "lua-check" if platform.system() == "Linux" else "luacheck"

# A kitty on a display that nobody sees, for what only pixels can tell; there is none of that on macOS.
DRAWN = (Program("kitty", "kitty"), Program("Xvfb", "xvfb")) if platform.system() == "Linux" else ()

PROGRAMS = (
    Program("git", "git"),
    Program("tmux", "tmux"),
    Program("emacs", EMACS),
    *([Program("package-lint", "elpa-package-lint", files=PACKAGE_LINT)] if platform.system() == "Linux" else []),
    Program("luacheck", LUACHECK),
    Program("ctags", "universal-ctags"),
    *DRAWN,
    Program("stylua", npm="@johnnymorganz/stylua-bin@2.5.2"),
    Program("aimock", npm="@copilotkit/aimock@1.43.0"),
)


def missing() -> list[Program]:
    """The programs that are on no path, in the order of the table."""
    return [program for program in PROGRAMS if not _present(program)]


def path() -> str:
    """PATH with the programs of this checkout in front."""
    own = [str(VENV / "bin"), str(NODE_HOME / "node_modules" / ".bin")]
    return os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])


def found(name: str) -> bool:
    """Whether a command is there, on PATH or installed into this checkout."""
    return shutil.which(name, path=path()) is not None


def _present(program: Program) -> bool:
    return any(Path("/").glob(program.files)) if program.files else found(program.name)


def install(wanted: Iterable[Program]) -> list[Program]:
    """Try to install `wanted`; those that are still missing."""
    wanted = list(wanted)
    system = [program.system for program in wanted if program.system]
    if system and shutil.which("apt-get"):
        install_debian(system)
    elif system and shutil.which("brew"):
        _try(["brew", "install", *system])
    npm = [program.npm for program in wanted if program.npm]
    if npm and found("npm"):
        NODE_HOME.mkdir(parents=True, exist_ok=True)
        options = ["--prefix", str(NODE_HOME), "--no-save", "--no-audit", "--no-fund"]
        _try(["npm", "install", *options, *npm], {"PATH": path(), **_trust()})
    return missing()


def install_debian(packages: Sequence[str]) -> None:
    """Install Debian's packages as root or with a sudo that asks nothing; elsewhere this does nothing."""
    root = _as_root()
    if root is None or not shutil.which("apt-get"):
        return
    _try([*root, "apt-get", "-qq", "update"])
    get = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    get += ["install", "-y", "--no-install-recommends"]
    if not _try([*get, *packages]):
        for package in packages:
            _try([*get, package])


def _trust() -> dict[str, str]:
    # npm brings its own list of authorities; a network with one of its own put that into the system's list.
    known = Path("/etc/ssl/certs/ca-certificates.crt")
    name = "NODE_EXTRA_CA_CERTS"
    return {name: str(known)} if known.exists() and name not in os.environ else {}


def _as_root() -> list[str] | None:
    if os.geteuid() == 0:
        return []
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        return ["sudo", "-n"]
    return None


def _try(command: Sequence[str], variables: Mapping[str, str] | None = None) -> bool:
    print(f"running: {' '.join(command)}", flush=True)
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        print("  " + "\n  ".join((done.stdout + done.stderr).strip().splitlines()[-5:]), flush=True)
    return done.returncode == 0
