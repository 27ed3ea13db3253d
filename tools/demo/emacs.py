"""`tools/try emacs demo`: a real Emacs and a real server on the sample project; the model's words are written.

Takes the Emacs to use as its argument. `command` is also what a picture is made of.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from run import HERE, variables_for

SAID = f"""\
smith demo in Emacs: the server, the edits and the commands are real.
The model is not: its words are a written script (tools/{HERE.name}/emacs.json).
Ask it anything, three times.
"""


def command(program: str, folder: Path, ready: Path | None = None) -> tuple[list[str], dict[str, str]]:
    """An Emacs on a copy of the sample project in `folder`, and its variables.

    With `ready` it works off the first scene by itself, up to the edit in the unsaved buffer, and makes that file when
    all is on the screen.
    """
    project = folder / "shop"
    shutil.copytree(HERE / "project", project)
    more = {"SMITH_DEMO_READY": str(ready)} if ready else {}
    words = [program, "-Q", "-nw", str(project / "prices.py"), "-l", str(HERE / "start.el")]
    script = "script.json" if ready else "emacs.json"
    return words, {**variables_for(project, script), **more}


def main(program: str) -> int:
    """Open it and wait until the person leaves."""
    print(SAID, flush=True)
    with tempfile.TemporaryDirectory(prefix="smith-demo-", ignore_cleanup_errors=True) as folder:
        words, more = command(program, Path(folder))
        return subprocess.run(words, env=more, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
