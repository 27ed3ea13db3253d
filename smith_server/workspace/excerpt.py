"""Lines of a text as a model reads them: number, tab, line; long lines cut where it can be seen. Pure."""

from collections.abc import Sequence

from smith_server.workspace.text import content_of, lines_of

MOST_OF_A_LINE = 2000
"""Characters of one line that are shown."""

_MOST_AROUND = 40


def numbered(lines: Sequence[str], first: int) -> str:
    """`lines`, numbered from `first`, one a line."""
    return "\n".join(f"{number}\t{shortened(content_of(line))}" for number, line in enumerate(lines, first))


def shortened(content: str, most: int = MOST_OF_A_LINE) -> str:
    """A line of no more than `most` characters, saying how many were cut off."""
    if len(content) <= most:
        return content
    return f"{content[:most]}[… {len(content) - most} more characters]"


def around(text: str, first: int, last: int, context: int = 3, most: int = _MOST_AROUND) -> str:
    """Lines `first` to `last` (from 1) of `text` and `context` lines on both sides, numbered; `most` at most."""
    lines = lines_of(text)
    if not lines:
        return "(the file is empty)"
    start = min(max(first - context, 1), len(lines))
    end = max(min(last + context, len(lines), start + most - 1), start)
    return numbered([shortened(line, 300) for line in lines[start - 1 : end]], start)
