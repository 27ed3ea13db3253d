"""Text that a terminal shows and does not obey."""

_LINES = (0x09, 0x0A)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
# Marks that turn the direction of text can show a command as another one.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HIDDEN = {code: None for code in (*_CONTROLS, *_DIRECTIONS) if code not in _LINES}


def printable(text: str) -> str:
    """`text` without what a terminal would obey instead of showing it; tabs and line ends stay."""
    return text.translate(_HIDDEN)
