"""What of a conversation is finished and goes into the terminal's scrollback, and what still changes below it."""

from rich.text import Text

from smith_server.tui import state, theme
from smith_server.tui.blocks import draw, text
from smith_server.tui.state import Approval, Block, Call, Conversation, Words
from smith_server.tui.theme import Painter

_HANGING = 2
"""What is wrapped stands beside the sign of its block, not under it."""

VOID = "(The answer broke off; what stands above of it is void. It is asked for again.)"


class Transcript:
    """Follows one conversation. What `finished` has given is never given again.

    It begins with `lead` blank rows.
    """

    def __init__(self, conversation: Conversation, painter: Painter, lead: int = 0) -> None:
        self._conversation = conversation
        self._painter = painter
        self._lead = lead
        self._previous: Block | None = None
        self._current: Block | None = None
        self._line = 0

    def finished(self, width: int) -> list[Text]:
        """The rows that came to their end since the last call."""
        rows = self._voided()
        blocks = self._conversation.blocks
        at = 0
        while at < len(blocks):
            more, is_whole = self._take(blocks[at], width)
            rows += more
            if not is_whole:
                break
            self._previous, self._current, self._line = blocks[at], None, 0
            at += 1
        # What is in the scrollback stays as it is: nobody has to keep it here too.
        del blocks[:at]
        return rows

    def live(self, width: int, height: int) -> list[Text]:
        """The rows of what still changes, at most `height` of them, the last ones."""
        rows: list[Text] = []
        previous = self._previous
        for block in self._conversation.blocks:
            if isinstance(block, Approval) and not block.decision:
                continue
            shown = self._growing(block, width)
            if shown:
                begun = block is self._current and self._line > 0
                rows += [Text()] * (0 if begun else self._gap(previous, block)) + shown
                previous = block
        return rows[-height:] if height > 0 else []

    def _take(self, block: Block, width: int) -> tuple[list[Text], bool]:
        if not _is_words(block):
            return (self._spaced(block, self._rows(block, width)), True) if block.settled else ([], False)
        assert isinstance(block, Words)
        self._current = block
        part = text.whole(block, self._line, width, self._painter)
        begins = self._line == 0 and part.next > 0
        self._line = part.next
        return (self._spaced(block, part.rows) if begins else part.rows), block.settled

    def _growing(self, block: Block, width: int) -> list[Text]:
        if not _is_words(block):
            return self._rows(block, width)
        assert isinstance(block, Words)
        return text.growing(block, self._line if block is self._current else 0, width, self._painter)

    def _rows(self, block: Block, width: int) -> list[Text]:
        return [row for each in draw.rows(block, width) for row in _fitted(block, each, width, self._painter)]

    def _spaced(self, block: Block, rows: list[Text]) -> list[Text]:
        gap = self._gap(self._previous, block)
        return [Text()] * gap + rows

    def _gap(self, previous: Block | None, block: Block) -> int:
        return self._lead if previous is None else draw.gap(previous, block)

    def _voided(self) -> list[Text]:
        removed, self._conversation.removed = self._conversation.removed, []
        was_shown = self._current in removed and self._line > 0
        if self._current in removed:
            self._current, self._line = None, 0
        return [Text(VOID, theme.DETAIL)] if was_shown else []


def _is_words(block: Block) -> bool:
    return isinstance(block, Words) and not isinstance(block, state.Thinking)


def _fitted(block: Block, row: Text, width: int, painter: Painter) -> list[Text]:
    """Calls are cut to one row each, everything else is shown whole."""
    return [theme.cut(row, width)] if isinstance(block, Call) else painter.wrapped(row, width, _HANGING)
