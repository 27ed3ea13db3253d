"""What a conversation keeps from turn to turn."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from smith_server.config.schema import Settings
from smith_server.core.account import Account
from smith_server.core.editor import Editor, Receipt
from smith_server.core.late import late
from smith_server.runtime.handles import Face
from smith_server.runtime.session import Session
from smith_server.runtime.view import WindowView

if TYPE_CHECKING:
    from smith_server.workspace.texts import Texts

_texts: "Callable[..., Texts]" = late("smith_server.workspace.texts:Texts")


class Kept(Struct):
    """Its editor, what it knows of files, its view, its costs; `is_counted` when those before it was opened are too."""

    session: Session
    editor: Editor
    texts: "Callable[[], Texts]"
    view: WindowView | None = None
    account: Account = field(default_factory=Account)
    is_counted: bool = False

    def aside(self) -> "Kept":
        """The same with a view of its own, for a look at what would be."""
        return Kept(self.session, self.editor, self.texts)


class Keeping:
    """What all open conversations keep."""

    def __init__(self, face: Face, environ: Mapping[str, str]) -> None:
        self._face = face
        self._environ = environ
        self._kept: dict[str, Kept] = {}

    def of(self, session: Session, settings: Settings) -> Kept:
        """What `session` keeps; made with its first turn."""
        kept = self._kept.get(session.id)
        if kept is None:
            editor = self._face.editor(session)
            texts = self.texts(editor, settings)
            editor.on_late(lambda change, receipt: _late(session, texts(), change, receipt))
            kept = self._kept[session.id] = Kept(session, editor, texts)
        return kept

    def texts(self, editor: Editor, settings: Settings) -> "Callable[[], Texts]":
        """What gives the texts of files for one who has seen none of them; they are made when a tool wants them."""
        return cache(partial(_texts, editor, rebase=settings.editor.rebase, environment=self._environ))

    def known(self, conversation: str) -> Kept | None:
        """What it keeps, if it had a turn."""
        return self._kept.get(conversation)

    def forget(self, conversation: str) -> None:
        """It is not open any more."""
        self._kept.pop(conversation, None)

    def forget_view(self, conversation: str) -> None:
        """Its messages are others than before: what of them was sent counts no more."""
        if conversation in self._kept:
            self._kept[conversation].view = None


def _late(session: Session, texts: "Texts", change: str, receipt: Receipt) -> None:
    """A receipt that came too late corrects what is known and reaches the model with the next request."""
    texts.late_receipt(change, receipt)
    session.inbox.note(f"[The editor answered late: the edit whose fate was unknown is {receipt.status}.]")
