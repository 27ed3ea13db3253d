"""The input line as rows: the text of an editing buffer, wrapped, with the cell of its cursor."""

from rich.cells import cell_len
from rich.text import Text

from smith_server.tui import theme
from smith_server.tui.screen import Frame

SIGN = "❯ "
_MARGIN = 2


def input_rows(text: str, cursor: int, width: int, most: int) -> Frame:
    """At most `most` rows around the cursor, which stands at offset `cursor` of `text`."""
    room = max(width - _MARGIN - 1, 1)
    rows: list[str] = []
    row = column = offset = 0
    for line in text.split("\n"):
        pieces = _pieces(line, room)
        if offset <= cursor <= offset + len(line):
            row, column = _place(pieces, cursor - offset, len(rows))
        rows += [shown for shown, _ in pieces]
        offset += len(line) + 1
    begin = min(max(row - most + 1, 0), max(len(rows) - most, 0)) if len(rows) > most else 0
    kept = rows[begin : begin + most]
    shown = [Text.assemble((SIGN if begin + at == 0 else "  ", theme.PROMPT), line) for at, line in enumerate(kept)]
    if len(rows) > len(kept):
        shown.append(Text(f"  {row + 1} of {len(rows)} rows", theme.DETAIL))
    return Frame(shown, row - begin, column + _MARGIN)


def _pieces(line: str, room: int) -> list[tuple[str, list[str]]]:
    """A line cut to the width: what is shown, and the same by character."""
    pieces: list[tuple[str, list[str]]] = []
    current: list[str] = []
    used = 0
    for shown in map(_shown, line):
        if used + cell_len(shown) > room:
            pieces.append(("".join(current), current))
            current, used = [], 0
        current.append(shown)
        used += cell_len(shown)
    return [*pieces, ("".join(current), current)]


def _shown(character: str) -> str:
    if character == "\t":
        return "    "
    if ord(character) < 0x20 or ord(character) == 0x7F:
        return f"^{chr(ord(character) ^ 0x40)}"
    return theme.clean(character) or "·"


def _place(pieces: list[tuple[str, list[str]]], offset: int, above: int) -> tuple[int, int]:
    for at, (_, characters) in enumerate(pieces):
        if offset <= len(characters) and not (offset == len(characters) and at + 1 < len(pieces)):
            return above + at, sum(map(cell_len, characters[:offset]))
        offset -= len(characters)
    return above, 0
