"""The system prompt: blocks in a fixed order, joined by a blank line. Equal inputs give equal text.

No clock and no randomness in here: providers cache what does not change.
"""

import platform
from functools import cache
from pathlib import Path

from msgspec import Struct

_PROMPTS = Path(__file__).with_name("prompts")


class Project(Struct, frozen=True):
    """What the prompt says of the place: the folder of the turn and the root of its project."""

    cwd: Path
    root: Path


def system_prompt(profile: str, project: Project) -> str:
    """The whole prompt for a role's `profile` (`direct`)."""
    return "\n\n".join(block for block in (role_text(profile), _project_block(project)) if block)


@cache
def role_text(profile: str) -> str:
    """The text of a profile, as it lies in `prompts/`."""
    return (_PROMPTS / f"{profile}.md").read_text("utf-8").strip()


def _project_block(project: Project) -> str:
    lines = [
        f"- CWD: {project.cwd}",
        f"- Repository root: {project.root}" if (project.root / ".git").exists() else "",
        f"- Platform: {platform.system()}",
        "- Shell of `bash`: /bin/bash",
    ]
    return "\n".join(["## Project information", *filter(None, lines)])
