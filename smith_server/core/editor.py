"""The editor as the core sees it: what is open, and changes that are proposed, never forced.

Texts are whole documents without byte-order mark, with the document's own line ends. Positions
are offsets in characters (code points) of that text; a face turns them into its own.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct


class OpenText(Struct, frozen=True):
    """The text of a file that is open in an editor, as the person sees it.

    `modified` tells whether it differs from the file on disk; `own_only` whether all of that
    difference comes from edits of this conversation.
    """

    path: Path
    text: str
    hash: str
    version: int = 0
    modified: bool = False
    own_only: bool = False
    encoding: str = "utf-8"


class Hunk(Struct, frozen=True):
    """Replace `old`, which stands at `start`, by `new`."""

    start: int
    old: str
    new: str

    @property
    def end(self) -> int:
        return self.start + len(self.old)


class Change(Struct, frozen=True):
    """One guarded edit of one open file: all hunks, in order and apart from each other, or none."""

    id: str
    path: Path
    base_hash: str
    hunks: tuple[Hunk, ...]
    label: str = ""


ReceiptStatus = Literal["applied", "stale", "expired", "read_only", "gone", "refused", "failed", "unknown", "withdrawn"]


class Receipt(Struct, frozen=True):
    """What became of a change.

    `unknown` means that no answer came: the change may or may not be in the buffer. `current` is
    the text now at the place of the change, for `stale`.
    """

    status: ReceiptStatus
    hash: str = ""
    message: str = ""
    current: str = ""


class SaveOutcome(Struct, frozen=True):
    """What became of the wish to save one buffer; `stale` when its text is no longer the one that was meant."""

    path: Path
    status: Literal["saved", "stale", "refused", "unknown"]
    message: str = ""


class DiskMark(Struct, frozen=True):
    """How the files behind the open buffers looked at one moment: path and what `stat` said."""

    files: tuple[tuple[Path, tuple[int, ...] | None], ...] = ()


class Editor(Protocol):
    """Port to whoever holds the open buffers; headless runs have one that holds none."""

    async def open_text(self, path: Path, *, certain: bool = False) -> OpenText | None:
        """The buffer that visits the file at `path` (the same file, whatever its name), if any.

        With `certain` the editor itself is asked about a file that is not known to be open: needed
        before a write, and not worth the wait for a read.
        """
        ...

    async def apply(self, change: Change) -> Receipt:
        """Propose `change` and wait for what became of it, the editor's deadline included."""
        ...

    def on_late(self, listener: Callable[[str, Receipt], None]) -> None:
        """Tell `listener` the receipt of a change that was given up on as `unknown`, when it still comes."""
        ...

    async def unsaved(self) -> Sequence[OpenText]:
        """The open buffers that differ from their file on disk."""
        ...

    async def save(self, texts: Sequence[OpenText], reason: str) -> Sequence[SaveOutcome]:
        """Ask the editor to write these buffers, each only while its text is the one given here."""
        ...

    def mark_disk(self) -> DiskMark:
        """How the files of the open buffers look on disk now."""
        ...

    def changed_since(self, mark: DiskMark) -> Sequence[Path]:
        """Open files whose disk side is not what it was at `mark`."""
        ...
