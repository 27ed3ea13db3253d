"""The system prompt: blocks in a fixed order, joined by a blank line. Equal inputs give equal text.

No clock and no randomness in here: providers cache what does not change. Reads one small file.
"""

import platform
from functools import cache
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import ToolRefusal, failure
from smith_server.core.ports import Entry
from smith_server.workspace.files import read_file
from smith_server.workspace.paths import locate
from smith_server.workspace.project import Project
from smith_server.workspace.text import decode

MOST_INDEX = 64 * 1024
"""Bytes of the index file that are told."""

_PROMPTS = Path(__file__).with_name("prompts")


class About(Struct, frozen=True):
    """What a prompt says of the place: the folder of the turn, its project, what is remembered of it.

    `index_file` is looked for in the root of the project alone.
    """

    cwd: Path
    project: Project | None = None
    index_file: str = ""
    memories: tuple[Entry, ...] = ()


def system_prompt(profile: str, about: About) -> str:
    """The whole prompt for a role's `profile`. Raises a `policy` failure for a profile that does not exist."""
    blocks = (role_text(profile), _project_block(about), _context_block(about), _memory_block(about))
    return "\n\n".join(block for block in blocks if block)


@cache
def role_text(profile: str) -> str:
    """The text of a profile, as it lies in `prompts/`."""
    path = _PROMPTS / f"{profile}.md"
    if "/" in profile or not path.is_file():
        raise failure("policy", "unknown_profile", f"There is no prompt profile {profile!r}.")
    return path.read_text("utf-8").strip()


def _project_block(about: About) -> str:
    project = about.project or Project(Path())
    rows = (
        ("CWD", str(about.cwd)),
        ("Repository root", str(project.root) if about.project else ""),
        ("Git origin", project.origin),
        ("Normalized origin", project.canonical),
        ("Project ID", project.id),
        ("Platform", platform.system()),
        ("Shell of `bash`", "/bin/bash"),
    )
    return "\n".join(["## Project information", *(f"- {name}: {value}" for name, value in rows if value)])


def _context_block(about: About) -> str:
    """The index file of the project, as far as it is a text inside of it."""
    text = _index(about)
    return f"## Project context\n{text}" if text else ""


def _index(about: About) -> str:
    if about.project is None or not about.index_file:
        return ""
    root = about.project.root.resolve()
    place = locate(about.index_file, root)
    if not place.real.is_relative_to(root):
        return ""
    try:
        data = read_file(place).data
    except ToolRefusal:
        return ""
    text = decode(data[:MOST_INDEX]).text.strip()
    return f"{text}\n[cut: the file has {len(data)} bytes]" if len(data) > MOST_INDEX else text


def _memory_block(about: About) -> str:
    if not about.memories or about.project is None:
        return ""
    rows = [f"- {entry.key}: {entry.label}" for entry in sorted(about.memories, key=lambda entry: entry.key)]
    return "\n".join(["## Project memory index", f"Project: {about.project.id}", *rows])
