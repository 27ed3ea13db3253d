"""Trees to explore: the installed Python with its packages, real sources of one size, a generated one."""

import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_PER_FOLDER = 50
_WORDS = ("config", "parse", "test", "client", "index", "model")
_SUFFIXES = (".py", ".js", ".md", ".c", ".json")


def installed() -> list[Path]:
    """The folders of the standard library and of the installed packages."""
    paths = sysconfig.get_paths()
    return [Path(paths["stdlib"]).resolve(), Path(paths["purelib"]).resolve()]


def generated(folder: Path, count: int) -> Path:
    """So many small files in many folders; made once."""
    if folder.exists():
        return folder
    for number in range(count):
        part = (
            folder
            / f"part{number // (_PER_FOLDER * 40):03}"
            / f"{_WORDS[number // _PER_FOLDER % 6]}{number // _PER_FOLDER:04}"
        )
        if number % _PER_FOLDER == 0:
            part.mkdir(parents=True)
        word = _WORDS[number % 6]
        name = f"{word}_{number:06}{_SUFFIXES[number % 5]}"
        (part / name).write_text(f"def {word}_{number}(value):\n    return OrderedDict({number})\n")
    return folder


def sources(folder: Path, count: int) -> Path:
    """So many Python files of the installed packages, copied; made once."""
    if folder.exists():
        return folder
    for path, _ in zip(_python_files(), range(count), strict=False):
        root = next(root for root in reversed(installed()) if path.is_relative_to(root))
        target = folder / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return folder


def long_file(path: Path, lines: int) -> Path:
    """A file of that many lines out of real ones."""
    text: list[str] = []
    for each in _python_files():
        text += each.read_text("utf-8", "replace").splitlines()
        if len(text) >= lines:
            break
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text[:lines]))
    return path


def _python_files() -> Iterator[Path]:
    for root in installed():
        for path in sorted(root.rglob("*.py")):
            if path.is_file() and "lib2to3/tests" not in str(path):
                yield path
