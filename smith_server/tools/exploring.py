"""What explores a codebase, loaded when a call needs it: a start would pay for it every time.

The tools themselves say what they are called and take; `explored/` holds how they answer, with the explorer that is
made here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from smith_server.core.editor import Editor
from smith_server.core.late import late

if TYPE_CHECKING:
    from smith_server.codebase.explorer import Explorer
    from smith_server.codebase.index import Index
    from smith_server.proc.looking import Lookout

_denied: Callable[..., Callable[[str], bool] | None] = late("smith_server.policy.denied:denied_paths")


class Known:
    """The definitions that a process has found, kept in `folder` from one to the next."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._index: Index | None = None

    def index(self) -> "Index":
        """Made when it is first asked for."""
        if self._index is None:
            from smith_server.codebase.index import Index  # noqa: PLC0415 - heavy, and wrapped here

            self._index = Index(self._folder)
        return self._index


class Around(Struct, frozen=True):
    """What one turn explores with: programs, editor, the rules of the person and where they count from.

    `lookout` gives what runs them, `created` the files that the turn has made so far.
    """

    lookout: "Callable[[], Lookout]"
    editor: Editor
    deny: Sequence[str]
    project: Path
    home: Path
    created: Callable[[], Sequence[Path]]
    known: Known


class Exploring:
    """Answers for one turn: files are listed once in it."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._explorer: Explorer | None = None

    def explorer(self) -> "Explorer":
        """Made with the first call."""
        if self._explorer is None:
            from smith_server.codebase.explorer import Explorer  # noqa: PLC0415 - heavy, and wrapped here
            from smith_server.codebase.ripgrep import Ripgrep  # noqa: PLC0415

            around = self._around
            denied = _denied(around.deny, around.project, around.home)
            ripgrep = Ripgrep(around.lookout())
            self._explorer = Explorer(ripgrep, around.editor, denied, around.created, around.known.index())
        return self._explorer
