"""What one conversation (or one child) knows of each file: which texts it saw, which edits were its own.

An older hash is as good as the current one while nothing but own edits lie between.
"""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from smith_server.workspace.hunks import LineChange

_MOST_CHARACTERS = 32_000_000
_MOST_STEPS = 200

Changes = tuple[LineChange, ...]


class Step(Struct, frozen=True):
    """One own edit: hashes of the text before and after, and what it did to the lines."""

    before: str
    after: str
    changes: Changes


class _Entry(Struct):
    known: str
    seen: bool
    steps: list[Step]


class Ledger:
    """Kept in memory; the texts themselves only up to a total size, the oldest go first."""

    def __init__(self, most_characters: int = _MOST_CHARACTERS) -> None:
        self._entries: dict[Path, _Entry] = {}
        self._texts: OrderedDict[tuple[Path, str], str] = OrderedDict()
        self._room = most_characters

    def note_read(self, path: Path, text_hash: str, text: str) -> None:
        """The model was shown the text of `path`."""
        entry = self._entries.get(path)
        steps = entry.steps if entry is not None and entry.known == text_hash else []
        self._entries[path] = _Entry(text_hash, True, steps)
        self._keep(path, text_hash, text)

    def note_edit(self, path: Path, step: Step, text: str, *, seen: bool = True) -> None:
        """An own edit made `text`. `seen` is false when it went over text that the model was not shown."""
        entry = self._entries.get(path)
        steps = entry.steps if entry is not None and entry.known == step.before else []
        self._entries[path] = _Entry(step.after, seen, [*steps, step][-_MOST_STEPS:])
        self._keep(path, step.after, text)

    def known(self, path: Path) -> str:
        """Hash of the last read or own edit, "" when there is none that the model has seen whole."""
        entry = self._entries.get(path)
        return entry.known if entry is not None and entry.seen else ""

    def last(self, path: Path) -> str:
        """Hash of the last read or own edit, seen or not; "" for a file that this conversation never had."""
        entry = self._entries.get(path)
        return entry.known if entry is not None else ""

    def own_since(self, path: Path, older: str, current: str) -> tuple[Step, ...] | None:
        """The own edits that lead from hash `older` to `current`; None when something else did."""
        if older == current:
            return ()
        entry = self._entries.get(path)
        if entry is None or entry.known != current:
            return None
        for index in range(len(entry.steps) - 1, -1, -1):
            if entry.steps[index].before == older:
                return tuple(entry.steps[index:])
        return None

    def text(self, path: Path, text_hash: str) -> str | None:
        """The text that had this hash when this conversation saw it, if it is still kept."""
        return self._texts.get((path, text_hash))

    def _keep(self, path: Path, text_hash: str, text: str) -> None:
        replaced = self._texts.pop((path, text_hash), "")
        self._texts[(path, text_hash)] = text
        self._room += len(replaced) - len(text)
        while self._room < 0:
            _, dropped = self._texts.popitem(last=False)
            self._room += len(dropped)


def carried(steps: Sequence[Step], start: int, end: int) -> tuple[int, int] | None:
    """Lines `start:end` (from 0, without `end`; a place between lines when equal) after own edits.

    None when one of the edits changed these lines. A place right where lines were inserted goes
    behind them: it belongs to the line that follows.
    """
    for step in steps:
        shift = 0
        for change in step.changes:
            if change.end <= start:
                shift += change.new_count - change.old_count
            elif change.start < end:
                return None
        start, end = start + shift, end + shift
    return start, end
