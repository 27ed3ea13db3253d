"""`tools/try demo`: a real Neovim and a real server; only the model's words are written beforehand.

Takes the Neovim to use as its argument. The exit code is 0 only when every step really happened.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from neovim import Neovim, NotSeen
from scenes import SCENES, Story
from written import HERE, variables

SAID = f"""\
smith demo: Neovim, the server, the edits and the commands are real.
The model is not: its words are a written script ({HERE.name}/script.json).
"""


def main(program: str) -> int:
    """Play every scene and tell what was checked."""
    visible = sys.stdin.isatty() and sys.stdout.isatty()
    print(SAID, flush=True)
    with tempfile.TemporaryDirectory(prefix="smith-demo-", ignore_cleanup_errors=True) as folder:
        project = Path(folder) / "shop"
        shutil.copytree(HERE / "project", project)
        told, problem = play(program, project / "prices.py", visible)
    if visible:
        print("\n".join(told))
    if problem:
        print(f"\nThe demo stopped: {problem}", file=sys.stderr)
        return 1
    print("\nEvery step happened as shown.")
    return 0


def play(program: str, file: Path, visible: bool) -> tuple[list[str], str]:
    """What was told, and "" or what did not happen."""
    home = file.parent.parent / "home"
    told: list[str] = []
    nvim = Neovim(program, file, {**os.environ, **variables(home)}, visible)
    try:
        story = Story(nvim)
        told = story.told
        nvim.caption("A demo: all is real but the model, whose words are a written script.", 4)
        for scene in SCENES:
            scene(story)
        nvim.caption("That was all.", 2)
    except NotSeen as problem:
        return told, str(problem)
    finally:
        nvim.close()
    return told, ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
