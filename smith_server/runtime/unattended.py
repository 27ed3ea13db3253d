"""Stand-ins for runs without an editor and without a person."""

from collections.abc import Callable, Sequence
from pathlib import Path

from smith_server.core.cancel import CancelToken
from smith_server.core.editor import Change, DiskMark, OpenText, Receipt, SaveOutcome
from smith_server.core.ports import Answer, Question


class NoEditor:
    """An `Editor` in which nothing is open."""

    async def open_text(self, path: Path, *, certain: bool = False) -> OpenText | None:
        return None

    async def apply(self, change: Change) -> Receipt:
        return Receipt("gone")

    def on_late(self, listener: Callable[[str, Receipt], None]) -> None:
        return None

    async def unsaved(self) -> Sequence[OpenText]:
        return ()

    async def save(self, texts: Sequence[OpenText], reason: str) -> Sequence[SaveOutcome]:
        return [SaveOutcome(text.path, "refused", "no editor is connected") for text in texts]

    def mark_disk(self) -> DiskMark:
        return DiskMark()

    def changed_since(self, mark: DiskMark) -> Sequence[Path]:
        return ()


class Nobody:
    """An `Approver` for runs with nobody there: every question is a no that says so."""

    async def ask(self, question: Question, token: CancelToken) -> Answer:
        return Answer("no", nobody=True)
