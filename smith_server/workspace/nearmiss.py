"""Why a text was not found: the lines that are nearest to it, and what differs. Pure."""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from smith_server.workspace.excerpt import numbered, shortened
from smith_server.workspace.text import content_of, lines_of

_NUMBERED = re.compile(r"\s*\d+\t")
_MOST_COMPARED = 4000
_MOST_SHOWN = 12
_MOST_NAMED = 3


def near_miss(lines: Sequence[str], old: str) -> str:
    """What to tell a model whose `old` does not stand in `lines`."""
    wanted = [content_of(line) for line in lines_of(old)]
    if wanted and all(_NUMBERED.match(line) for line in wanted):
        return "`old` is not in the file: it seems to hold the line numbers of `read`. Give the lines without them."
    have = [content_of(line) for line in lines]
    at = _nearest(have, wanted)
    if at is None:
        return "`old` is not in the file, and no line of it is like it. Read the file and take the text from there."
    place = have[at : at + min(len(wanted), _MOST_SHOWN)]
    differences = _differences(wanted, have[at : at + len(wanted)], at + 1)
    return f"`old` is not in the file. Nearest lines:\n{numbered(place, at + 1)}\n{differences}"


def _nearest(have: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Index of the line that the first wanted line should be compared with."""
    squeezed = [_squeezed(line) for line in have]
    places: dict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(squeezed):
        if line:
            places[line].append(index)
    votes = Counter(at - index for index, line in enumerate(wanted) for at in places[_squeezed(line)])
    if votes:
        most = max(votes.values())
        return max(min(place for place, count in votes.items() if count == most), 0)
    return _alike(squeezed, wanted)


def _alike(squeezed: Sequence[str], wanted: Sequence[str]) -> int | None:
    index, first = next(((index, _squeezed(line)) for index, line in enumerate(wanted) if line.strip()), (0, ""))
    if not first:
        return None
    inside = next((at for at, line in enumerate(squeezed) if first in line), None)
    if inside is None and len(first) <= 500:
        compared = [line for line in squeezed[:_MOST_COMPARED] if len(line) <= 500]
        close = difflib.get_close_matches(first, compared, n=1)
        inside = squeezed.index(close[0]) if close else None
    return None if inside is None else max(inside - index, 0)


def _differences(wanted: Sequence[str], have: Sequence[str], first: int) -> str:
    named = []
    for number, (want, is_there) in enumerate(zip(wanted, have, strict=False), first):
        if want != is_there and want not in is_there:
            named.append(_difference(number, want, is_there))
    if len(wanted) > len(have):
        named.append(f"`old` has {len(wanted)} lines, the file ends after {len(have)} of them.")
    more = len(named) - _MOST_NAMED
    return "\n".join([*named[:_MOST_NAMED], *([f"{more} more lines differ."] if more > 0 else [])])


def _difference(number: int, want: str, have: str) -> str:
    if _squeezed(want) == _squeezed(have):
        kind = "only white space differs"
    elif want.casefold() == have.casefold():
        kind = "only letter case differs"
    else:
        kind = "differs"
    return f"line {number} {kind}: yours {shortened(want, 120)!r}, file {shortened(have, 120)!r}"


def _squeezed(line: str) -> str:
    return " ".join(line.split())
