"""`tools/try demo`: a real Neovim, server and terminal session; only the model's words are written beforehand.

Takes the Neovim to use as its argument. The exit code is 0 only when every step really happened.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from errand import errand
from neovim import Neovim, NotSeen
from scenes import SCENES, Story

HERE = Path(__file__).resolve().parent
SAID = f"""\
smith demo: Neovim, the server, the edits, the commands and the session in the
terminal are real. The model is not: its words are written beforehand
(tools/{HERE.name}/script.json and dispatch.json).
"""


def main(program: str) -> int:
    """Play every scene and tell what was checked."""
    visible = sys.stdin.isatty() and sys.stdout.isatty()
    print(SAID, flush=True)
    with tempfile.TemporaryDirectory(prefix="smith-demo-", ignore_cleanup_errors=True) as folder:
        project = Path(folder) / "shop"
        shutil.copytree(HERE / "project", project)
        told, problem = play(program, project / "prices.py", visible)
        sent, problem = ([], problem) if problem else send(project, visible)
    print("\n".join([*told, *sent] if visible else sent))
    if problem:
        print(f"\nThe demo stopped: {problem}", file=sys.stderr)
        return 1
    print("\nEvery step happened as shown.")
    return 0


def variables_for(project: Path, script: str) -> dict[str, str]:
    """The variables of everything in the demo: nothing of whoever runs it, and the words of a script."""
    home = project.parent / "home"
    return {
        "TERM": "xterm-256color",
        **os.environ,
        **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
        "SMITH_HOME": str(home / "smith"),
        "SMITH_PROVIDER": "scripted",
        "SMITH_SCRIPT": str(HERE / script),
        "SMITH_DEMO_PYTHON": sys.executable,
    }


def send(project: Path, visible: bool) -> tuple[list[str], str]:
    """The scene in the terminal: what was told, and "" or what did not happen."""
    try:
        return errand(project, variables_for(project, "dispatch.json"), visible), ""
    except NotSeen as problem:
        return [], str(problem)


def play(program: str, file: Path, visible: bool) -> tuple[list[str], str]:
    """The scenes in Neovim: the same."""
    told: list[str] = []
    nvim = Neovim(program, file, variables_for(file.parent, "script.json"), visible)
    try:
        story = Story(nvim)
        told = story.told
        nvim.caption("A demo: all is real but the model, whose words are a written script.", 4)
        for scene in SCENES:
            scene(story)
        nvim.caption("The rest is in the terminal.", 2)
    except NotSeen as problem:
        return told, str(problem)
    finally:
        nvim.close()
    return told, ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
