"""The benchmark: the program and its floors, in turn in one run. `docs/performance.md` explains the rows."""
