"""The smallest hunks between two texts, and what hunks do to a text and to its lines. Pure.

Marks and folds of an editor survive where nothing is replaced, so a hunk never covers more than it must.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from smith_server.core.editor import Hunk
from smith_server.workspace.linediff import changed_spans
from smith_server.workspace.text import line_count, lines_of


class LineChange(NamedTuple):
    """From line `start` (counted from 0) on, `old_count` lines became `new_count` lines."""

    start: int
    old_count: int
    new_count: int

    @property
    def end(self) -> int:
        return self.start + self.old_count


def hunks_between(old: str, new: str, start: int = 0) -> tuple[Hunk, ...]:
    """The hunks that make `new` of `old`, which stands at offset `start` of its text, at the begin of a line."""
    old_lines, new_lines = lines_of(old), lines_of(new)
    offsets = list(accumulate(map(len, old_lines), initial=start))
    hunks: list[Hunk] = []
    for span in changed_spans(old_lines, new_lines):
        block = new_lines[span.new_start : span.new_end]
        hunks += block_hunks(old_lines[span.old_start : span.old_end], block, offsets[span.old_start])
    return joined(hunks)


def block_hunks(old: Sequence[str], new: Sequence[str], start: int) -> list[Hunk]:
    """The hunks for lines that were all replaced; as many new ones as old are taken pair by pair."""
    if not old or not new or len(old) != len(new):
        return [_cut("".join(old), "".join(new), start)]
    hunks = []
    for before, after in zip(old, new, strict=True):
        if before != after:
            hunks.append(_cut(before, after, start))
        start += len(before)
    return hunks


def joined(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """`hunks`, those that touch made one, so that all are apart from each other."""
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        if groups and groups[-1][-1].end == hunk.start:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    return tuple(
        Hunk(group[0].start, "".join(hunk.old for hunk in group), "".join(hunk.new for hunk in group))
        for group in groups
    )


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """`text` after `hunks`, which are in order. Raises `ValueError` where `old` is not what stands there."""
    pieces, done = [], 0
    for hunk in hunks:
        if hunk.start < done or not text.startswith(hunk.old, hunk.start):
            raise ValueError(f"the text at {hunk.start} is not what the hunk replaces")
        pieces += [text[done : hunk.start], hunk.new]
        done = hunk.end
    return "".join([*pieces, text[done:]])


def line_changes(text: str, hunks: Sequence[Hunk]) -> tuple[LineChange, ...]:
    """What `hunks` do to the lines of `text`: changed, inserted and removed ones, in order."""
    changes: list[LineChange] = []
    line, counted = 0, 0
    for hunk in hunks:
        line += text.count("\n", counted, hunk.start)
        counted = hunk.start
        change = _line_change(text, hunk, line)
        previous = changes[-1] if changes else None
        if previous is not None and previous.old_count and change.old_count and previous.end > change.start:
            shared = previous.end - change.start
            changes[-1] = LineChange(
                previous.start,
                previous.old_count + change.old_count - shared,
                previous.new_count + change.new_count - shared,
            )
        else:
            changes.append(change)
    return tuple(changes)


def _line_change(text: str, hunk: Hunk, line: int) -> LineChange:
    at_start = hunk.start == 0 or text[hunk.start - 1] == "\n"
    whole = at_start and hunk.old[-1:] in ("", "\n") and hunk.new[-1:] in ("", "\n")
    head = "" if at_start else "x"
    tail = "" if whole or hunk.end == len(text) else "x"
    old_count, new_count = line_count(head + hunk.old + tail), line_count(head + hunk.new + tail)
    at_line_end = text[hunk.start : hunk.start + 1] in ("", "\r", "\n")
    if head and not hunk.old and at_line_end and hunk.new.startswith(("\n", "\r\n")):
        return LineChange(line + 1, 0, new_count - 1)
    return LineChange(line, old_count, new_count)


def _cut(old: str, new: str, start: int) -> Hunk:
    """One hunk without the characters that both sides begin and end with."""
    if not old or not new:
        return Hunk(start, old, new)
    head = _common_head(old, new)
    while head and (_joined(old, head) or _joined(new, head)):
        head -= 1
    tail = _common_tail(old[head:], new[head:])
    while tail and (_joined(old, len(old) - tail) or _joined(new, len(new) - tail)):
        tail -= 1
    return Hunk(start + head, old[head : len(old) - tail], new[head : len(new) - tail])


def _common_head(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.startswith(b[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a.endswith(b[len(b) - middle :]):
            low = middle
        else:
            high = middle - 1
    return low


def _joined(text: str, at: int) -> bool:
    """Whether a cut at `at` would part a CRLF or a character from what combines with it."""
    if not 0 < at < len(text):
        return False
    return text[at - 1 : at + 1] == "\r\n" or unicodedata.combining(text[at]) > 0
