"""The panel with the question that waits, and whose keys are whose.

A panel that appears while a person types must not take a key that was meant for the text. So it takes
keys at once only when the input is empty and nothing was typed just before; else when the person moves to it.
"""

from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.blocks import approval, label
from smith_server.tui.state import Approval

TYPING_SECONDS = 1.0
"""So long after a key more keys are expected."""

DECISIONS = {"y": "yes", "n": "no", "a": "always"}


class Panel:
    """Which question is shown, and whether keys go to it. Times are seconds of one clock."""

    def __init__(self) -> None:
        self.question: Approval | None = None
        self._has_keys = False
        self._typed = -TYPING_SECONDS
        self._count = 0

    def follow(self, asking: list[Approval], now: float, *, is_input_empty: bool) -> None:
        """Show the oldest of the open questions."""
        first = asking[0] if asking else None
        self._count = len(asking)
        if first is self.question:
            return
        self.question = first
        self._has_keys = first is not None and is_input_empty and now - self._typed >= TYPING_SECONDS

    def typed(self, now: float) -> None:
        """A key of a text was pressed."""
        self._typed = now

    def sent(self) -> None:
        """The text is complete: no more keys of it will come."""
        self._typed = -TYPING_SECONDS

    @property
    def takes_keys(self) -> bool:
        """Whether a key goes to the question."""
        return self._has_keys

    def move(self) -> None:
        """From the text to the question, or back."""
        self._has_keys = self.question is not None and not self._has_keys

    def rows(self, width: int, height: int) -> list[Text]:
        """The panel in about `height` rows."""
        if self.question is None:
            return []
        shown, is_whole = approval.question(self.question, height - 1)
        more = f" · {self._count - 1} more after it" if self._count > 1 else ""
        if self._has_keys:
            view = "" if is_whole else " · v view all"
            keys = Text(f"{label.INDENT}{approval.CHOICES} · Esc no{view}{more}", theme.HINT)
        else:
            keys = Text(f"{label.INDENT}Tab: answer this ({approval.CHOICES}){more}", theme.DETAIL)
        return [theme.cut(row, width) for row in [*shown, keys]]
