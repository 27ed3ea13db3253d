"""An editor that holds its buffers in memory and can be told how to behave."""

from collections.abc import Callable, Sequence
from pathlib import Path

from smith_server.core.editor import Change, DiskMark, OpenText, Receipt, SaveOutcome
from smith_server.workspace.hunks import apply_hunks
from smith_server.workspace.text import text_hash


class FakeEditor:
    """Buffers by real path. `before_apply` is what the person does right before a change arrives.

    `answer` is given instead of applying; with `applies_anyway` the change is made all the same, as
    by an editor whose answer is lost. Every change that came is kept in `changes`.
    """

    def __init__(self, texts: dict[Path, str] | None = None, encoding: str = "utf-8") -> None:
        self.buffers: dict[Path, str] = dict(texts or {})
        self.encoding = encoding
        self.modified: set[Path] = set()
        self.changes: list[Change] = []
        self.undo: list[tuple[Path, str]] = []
        self.before_apply: Callable[[], None] = lambda: None
        self.answer: Receipt | None = None
        self.applies_anyway = False

    def type(self, path: Path, text: str) -> None:
        """The person changes a buffer."""
        self.buffers[path] = text
        self.modified.add(path)

    def close(self, path: Path) -> None:
        """The person closes a buffer without saving it."""
        self.buffers.pop(path, None)
        self.modified.discard(path)

    async def open_text(self, path: Path, *, certain: bool = False) -> OpenText | None:
        found = self._visiting(path)
        if found is None:
            return None
        text = self.buffers[found]
        return OpenText(found, text, text_hash(text), modified=found in self.modified, encoding=self.encoding)

    async def apply(self, change: Change) -> Receipt:
        self.before_apply()
        self.changes.append(change)
        found = self._visiting(change.path)
        if self.answer is not None and not self.applies_anyway:
            return self.answer
        if found is None:
            return Receipt("gone")
        text = self.buffers[found]
        if text_hash(text) != change.base_hash:
            return Receipt("stale", current=text)
        self.undo.append((found, text))
        self.type(found, apply_hunks(text, change.hunks))
        return self.answer or Receipt("applied", hash=text_hash(self.buffers[found]))

    def on_late(self, listener: Callable[[str, Receipt], None]) -> None:
        self.late = listener

    async def unsaved(self) -> Sequence[OpenText]:
        return [text for path in sorted(self.modified) if (text := await self.open_text(path)) is not None]

    async def save(self, texts: Sequence[OpenText], reason: str) -> Sequence[SaveOutcome]:
        paths = [text.path for text in texts]
        for path in paths:
            path.write_bytes(self.buffers[path].encode())
            self.modified.discard(path)
        return [SaveOutcome(path, "saved") for path in paths]

    def mark_disk(self) -> DiskMark:
        return DiskMark(tuple((path, _look(path)) for path in sorted(self.buffers)))

    def changed_since(self, mark: DiskMark) -> Sequence[Path]:
        return [path for path, seen in mark.files if _look(path) != seen]

    def _visiting(self, path: Path) -> Path | None:
        for each in self.buffers:
            if each == path or (each.exists() and path.exists() and each.samefile(path)):
                return each
        return None


def _look(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
