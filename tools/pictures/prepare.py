"""What has to be there before pictures can be made; then `shots.py` in the private environment.

Standard library only.
"""

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

import environment  # noqa: E402
import programs  # noqa: E402


def main(names: list[str]) -> int:
    """Run the script that makes the pictures named, or all; 1 when something is missing."""
    try:
        environment.ensure("test")
    except environment.SetupFailed as problem:
        print(problem, file=sys.stderr)
        return 1
    absent = programs.install(programs.missing())
    needed = {"kitty", "Xvfb", "emacs"} & {program.name for program in absent}
    if needed:
        print(f"missing: {', '.join(sorted(needed))}", file=sys.stderr)
        return 1
    command = [str(environment.PYTHON), str(TOOLS / "pictures" / "shots.py"), *names]
    return subprocess.run(command, env=environment.variables(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
