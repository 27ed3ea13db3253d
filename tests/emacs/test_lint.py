"""The package as the archives of Emacs packages want it."""

import os
from pathlib import Path

import pytest

from tests.emacs import lisp

pytestmark = pytest.mark.emacs

LINT = Path("/usr/share/emacs/site-lisp")
TOO_NEW = "This makes the package uninstallable in all released Emacs versions."
"""What a package-lint that is older than Emacs 28 says of every package for it."""
NO_PLACE = "Package should have a Homepage or URL header."
"""It comes with the server and has no address of its own."""


def test_the_package_has_nothing_to_find_fault_with(tmp_path: Path) -> None:
    folders = [path for found in ("elpa-src", "elpa") for path in sorted(LINT.glob(f"{found}/*"))]
    assert any(folder.name.startswith("package-lint") for folder in folders), "these tests need elpa-package-lint"
    paths = [word for folder in folders for word in ("-L", folder)]
    main = f'(setq package-lint-main-file "{lisp.PACKAGE / "smith.el"}")'
    lint = ["-l", "package-lint", "--eval", main, "-f", "package-lint-batch-and-exit", *lisp.files()]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    said = lisp.batch([*paths, *lint], lisp.PACKAGE, environ).stdout
    known = (" directory '", TOO_NEW, NO_PLACE)
    faults = [line for line in said.splitlines() if not any(words in line for words in known)]
    assert faults == []
    assert "directory '" in said
