"""`tools/bench`: make the private environment, then become the benchmark in it.

Standard library only; what is measured stands in `benchmarks/`.
"""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import environment


def main(arguments: Sequence[str]) -> NoReturn:
    """Run the benchmark with the Python of the private environment."""
    try:
        environment.ensure("run")
    except environment.SetupFailed as problem:
        sys.exit(str(problem))
    python = str(environment.PYTHON)
    variables = {**environment.variables(), "PYTHONPATH": str(environment.REPO / "tools")}
    sys.stdout.flush()
    os.execve(python, [python, "-m", "benchmarks", *arguments], variables)


if __name__ == "__main__":
    main(sys.argv[1:])
