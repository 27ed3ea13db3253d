"""ripgrep, run so that neither a pattern nor the project can make it do anything but search."""

from collections.abc import Sequence
from pathlib import Path

from smith_server.core.errors import ToolRefusal
from smith_server.proc.looking import Looked, Looking, Lookout, Take
from smith_server.proc.programs import bundled, installed

SECONDS = 30.0
NO_MATCH, TROUBLE = 1, 2
"""Exit codes: nothing was found; something went wrong, maybe beside matches."""

_ALWAYS = ("--no-config", "--no-require-git", "--no-messages", "--color=never")


class Ripgrep:
    """Runs it for one session. `program` is its path where it is not to be looked for."""

    def __init__(self, lookout: Lookout, program: str = "", seconds: float = SECONDS) -> None:
        self._lookout = lookout
        self._program = program
        self._seconds = seconds

    async def run(self, words: Sequence[str], folder: Path, take: Take, data: bytes = b"") -> Looked:
        """Run it in `folder` with these words, which end with `--` and paths; `data` is its input.

        Raises `ToolRefusal`: `program_missing`, `not_started`, `search_failed` when it crashed.
        """
        program = self._program or bundled("rg") or installed("rg", folder)
        looked = await self._lookout.run(Looking((program, *_ALWAYS, *words), folder, self._seconds, data), take)
        if looked.ended == "itself" and looked.code not in (0, NO_MATCH, TROUBLE):
            raise ToolRefusal("search_failed", f"The search program ended with {looked.code}. Try a narrower search.")
        return looked
