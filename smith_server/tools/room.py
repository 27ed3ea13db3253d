"""The room of one result: lines are added while they fit, and the rest is counted."""

from smith_server.workspace.excerpt import shortened

LINE = 240
"""Characters of one line of code that are shown."""


class Room:
    """Takes lines up to a number and a size in bytes, the most important first."""

    def __init__(self, most_lines: int, most_bytes: int = 16_384) -> None:
        self.lines: list[str] = []
        self._left_lines = most_lines
        self._left_bytes = most_bytes

    def add(self, *lines: str) -> bool:
        """Add these together, or none of them."""
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        if len(lines) > self._left_lines or size > self._left_bytes:
            return False
        self.lines += lines
        self._left_lines -= len(lines)
        self._left_bytes -= size
        return True

    def text(self, *notes: str) -> str:
        """All lines, and behind them the notes that say something, each in brackets."""
        return "\n".join([*self.lines, *(f"[{note}]" for note in notes if note)])


def around(text: str, at: int, most: int = LINE) -> str:
    """The part of a long line that holds character `at`, with a word about what is cut off."""
    if len(text) <= most or at < most * 3 // 4:
        return shortened(text, most)
    start = max(min(at - most // 3, len(text) - most), 0)
    behind = len(text) - start - most
    return f"[{start} characters …]{text[start : start + most]}" + (f"[… {behind} more]" if behind > 0 else "")


def counted(number: int, thing: str) -> str:
    """`1 file`, `2 files`, `1,234 matches`."""
    ending = "" if number == 1 else "es" if thing.endswith(("ch", "s")) else "s"
    return f"{number:,} {thing}{ending}"
