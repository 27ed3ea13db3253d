"""Real files of many languages: what is installed here, and a few packages of Debian and npm that ship their sources.

The packages are unpacked into `.cache/corpus` once. What cannot be had is left out.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import trees
from benchmarks.place import REPO
from smith_server.codebase.grammars import GRAMMARS
from smith_server.codebase.languages import dialect, language_of

_CACHE = REPO / ".cache" / "corpus"
_DEBIAN = (
    "bash-completion",
    "golang-github-gorilla-mux-dev",
    "golang-github-spf13-cobra-dev",
    "googletest",
    "librust-clap-dev",
    "librust-regex-dev",
    "lua-penlight",
    "nlohmann-json3-dev",
    "ruby-rack",
    "ruby-sinatra",
)
_NPM = ("express@5.1.0", "react-native-device-info@14.0.4", "react-native-maps@1.20.1", "rxjs@7.8.2", "node-gyp@11.0.0")
_INSTALLED = ("/usr/include", "/usr/share/bash-completion", "/usr/share/nvim", "/usr/lib/git-core", "/usr/lib/ruby")
_SIZES = range(500, 300_000)


def fetched() -> list[Path]:
    """The folders of the packages, got if they are not there and can be had."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    for package in _DEBIAN:
        if shutil.which("apt-get") and shutil.which("dpkg") and not (_CACHE / package).exists():
            _get(package, ["apt-get", "download", package], "*.deb", ["dpkg", "-x"])
    for package in _NPM:
        if shutil.which("npm") and not (_CACHE / package).exists():
            _get(package, ["npm", "pack", "--silent", package], "*.tgz", ["tar", "xzf"])
    return [path for path in sorted(_CACHE.iterdir()) if path.is_dir()]


def chosen(most: int, *, fetch: bool) -> Mapping[str, Sequence[Path]]:
    """At most so many files of each language that has a grammar, spread evenly over what there is."""
    roots = [*(fetched() if fetch else []), *trees.installed(), *map(Path, _INSTALLED)]
    found: dict[str, list[Path]] = {}
    for root in roots:
        for path in _files(root):
            if language := _language(path):
                found.setdefault(language, []).append(path)
    return {
        language: sorted(set(paths))[:: max(1, len(set(paths)) // most)][:most]
        for language, paths in sorted(found.items())
    }


def _files(root: Path) -> list[Path]:
    return [
        Path(folder) / name for folder, _, names in os.walk(root) for name in names if language_of(name) in GRAMMARS
    ]


def _language(path: Path) -> str:
    try:
        if path.is_symlink() or path.stat().st_size not in _SIZES or path.name.endswith(".min.js"):
            return ""
        language = language_of(path.name)
        return dialect(language, path.read_bytes()) if path.suffix == ".h" else language
    except OSError:
        return ""


def _get(package: str, command: Sequence[str], pattern: str, unpack: Sequence[str]) -> None:
    folder = _CACHE / f"{package}.part"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    for archive in folder.glob(pattern):
        target = [str(folder)] if "dpkg" in unpack else []
        subprocess.run([*unpack, archive.name, *target], cwd=folder, capture_output=True, check=False)
        archive.unlink()
        folder.rename(_CACHE / package)
    shutil.rmtree(folder, ignore_errors=True)
