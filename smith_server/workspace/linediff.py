"""Which lines differ: two sequences of lines → the spans that were changed. Pure, in bounded time.

Equal ends are cut off, then the shortest edit script is looked for; where it would be long, lines
that occur once on both sides divide the work. What is still too much stays one changed span.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_MOST_EDITS = 200
_MOST_STEPS = 1_000_000


class Span(NamedTuple):
    """Lines `old_start:old_end` became lines `new_start:new_end`; either side may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changed_spans(old: Sequence[str], new: Sequence[str]) -> list[Span]:
    """The spans that differ, in order, each with at least one equal line between it and the next."""
    numbers: dict[str, int] = {}
    work = _Work(
        [numbers.setdefault(line, len(numbers)) for line in old],
        [numbers.setdefault(line, len(numbers)) for line in new],
    )
    return work.run()


class _Work:
    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old = old
        self._new = new
        self._steps = _MOST_STEPS

    def run(self) -> list[Span]:
        found: list[Span] = []
        todo = [Span(0, len(self._old), 0, len(self._new))]
        while todo:
            span = self._trimmed(todo.pop())
            if span.old_start == span.old_end and span.new_start == span.new_end:
                continue
            if span.old_start == span.old_end or span.new_start == span.new_end:
                found.append(span)
                continue
            parts = self._shortest(span)
            if parts is not None:
                found += parts
            elif anchored := self._between_anchors(span):
                todo += anchored
            else:
                found.append(span)
        return sorted(found)

    def _trimmed(self, span: Span) -> Span:
        old, new = self._old, self._new
        a, a_end, b, b_end = span
        while a < a_end and b < b_end and old[a] == new[b]:
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        return Span(a, a_end, b, b_end)

    def _shortest(self, span: Span) -> list[Span] | None:
        """The greedy search of Myers, given up after `_MOST_EDITS` edits or when the steps are used up."""
        old, new = self._old[span.old_start : span.old_end], self._new[span.new_start : span.new_end]
        reached = {1: 0}
        trail: list[dict[int, int]] = []
        for edits in range(min(_MOST_EDITS, len(old) + len(new)) + 1):
            trail.append(dict(reached))
            for diagonal in range(-edits, edits + 1, 2):
                x = _step(reached, diagonal, edits)
                start = x
                while x < len(old) and 0 <= x - diagonal < len(new) and old[x] == new[x - diagonal]:
                    x += 1
                self._steps -= 1 + x - start
                reached[diagonal] = x
                if x >= len(old) and x - diagonal >= len(new):
                    return _spans(_matches(trail, len(old), len(new)), span)
            if self._steps < 0:
                return None
        return None

    def _between_anchors(self, span: Span) -> list[Span]:
        """The parts of `span` between lines that are unique on both sides and in the same order; [] without any."""
        old, new = self._old[span.old_start : span.old_end], self._new[span.new_start : span.new_end]
        if self._steps < 0:
            return []
        self._steps -= len(old) + len(new)
        counts_old, counts_new = Counter(old), Counter(new)
        places = {line: index for index, line in enumerate(new) if counts_new[line] == 1 == counts_old[line]}
        pairs = _rising([(index, places[line]) for index, line in enumerate(old) if line in places])
        parts, a, b = [], span.old_start, span.new_start
        for x, y in pairs:
            parts.append(Span(a, span.old_start + x, b, span.new_start + y))
            a, b = span.old_start + x + 1, span.new_start + y + 1
        return [*parts, Span(a, span.old_end, b, span.new_end)] if pairs else []


def _step(reached: dict[int, int], diagonal: int, edits: int) -> int:
    if diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1]):
        return reached[diagonal + 1]
    return reached[diagonal - 1] + 1


def _matches(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """Runs of equal lines (old index, new index, length) on the way back to the start, in order."""
    runs: list[tuple[int, int, int]] = []
    for edits in range(len(trail) - 1, -1, -1):
        reached, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        from_x = reached[before]
        start = from_x if down else from_x + 1
        if x > start:
            runs.append((start, start - diagonal, x - start))
        x, y = from_x, from_x - before
    return runs[::-1]


def _spans(runs: list[tuple[int, int, int]], within: Span) -> list[Span]:
    spans, a, b = [], within.old_start, within.new_start
    ends = (within.old_end - within.old_start, within.new_end - within.new_start, 0)
    for x, y, length in [*runs, ends]:
        old_end, new_end = within.old_start + x, within.new_start + y
        if old_end > a or new_end > b:
            spans.append(Span(a, old_end, b, new_end))
        a, b = old_end + length, new_end + length
    return spans


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs` (first numbers rise) in which the second numbers rise too."""
    tails: list[int] = []
    holders: list[int] = []
    previous: list[int] = []
    for index, (_, y) in enumerate(pairs):
        place = bisect_left(tails, y)
        previous.append(holders[place - 1] if place else -1)
        if place == len(tails):
            tails.append(y)
            holders.append(index)
        else:
            tails[place], holders[place] = y, index
    chosen, index = [], holders[-1] if holders else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = previous[index]
    return chosen[::-1]
