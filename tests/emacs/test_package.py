"""The Lisp files as a package: each stands alone, compiles cleanly, and knows only what is below it."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.emacs import lisp

pytestmark = pytest.mark.emacs

FLOORS = (
    "smith-json smith-label smith-news smith-options smith-part smith-protocol smith-ready smith-text smith-uri",
    "smith-changes smith-diff smith-markdown smith-record smith-reload smith-rpc smith-sequence smith-input",
    "smith-apply smith-pager smith-render smith-sync smith-table",
    "smith-block smith-buffers smith-fold",
    "smith-edit smith-state",
    "smith-session",
    "smith-context smith-modeline",
    "smith-chat smith-touched",
    "smith-approval smith-complete smith-health",
    "smith-actions",
    "smith",
)
"""Lowest first; a file requires files of lower floors only."""

FILES = lisp.files()
every_file = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])


def environ(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


@every_file
def test_a_file_loads_alone_and_says_nothing(path: Path, tmp_path: Path) -> None:
    done = lisp.batch(["-l", path], tmp_path, environ(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")


@every_file
def test_a_file_compiles_without_a_warning(path: Path, tmp_path: Path) -> None:
    copy = shutil.copy(path, tmp_path)
    strict = "(setq byte-compile-error-on-warn t)"
    done = lisp.batch(["--eval", strict, "-f", "batch-byte-compile", copy], tmp_path, environ(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")


@every_file
def test_the_words_in_a_file_are_as_emacs_wants_them(path: Path, tmp_path: Path) -> None:
    done = lisp.batch(["--eval", f'(checkdoc-file "{path}")'], tmp_path, environ(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")


@every_file
def test_a_file_requires_what_it_says_and_nothing_above_it(path: Path) -> None:
    text = path.read_text()
    required = re.findall(r"^\(require '(smith[\w-]*)\)", text, re.M)
    said = re.search(r"^;; Requires (.*?)(?:\n\n|\n;;\n)", text, re.M | re.S)
    assert said, "the Commentary does not say what the file requires"
    assert re.findall(r"`(smith[\w-]*)'", said[1]) == required
    assert re.search(r"must\s+(;; )?not", said[1])
    floor = next(number for number, names in enumerate(FLOORS) if path.stem in names.split())
    below = " ".join(FLOORS[:floor]).split()
    assert [name for name in required if name not in below] == []
    assert "declare-function" not in text


def test_every_file_is_on_a_floor() -> None:
    assert sorted(" ".join(FLOORS).split()) == sorted(path.stem for path in FILES)
