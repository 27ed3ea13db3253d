"""A unified diff for a person, from the hunks of a change. Pure, and of bounded size."""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from smith_server.core.editor import Hunk
from smith_server.workspace.excerpt import shortened
from smith_server.workspace.hunks import LineChange, line_changes
from smith_server.workspace.text import content_of, lines_of

_CONTEXT = 3
_MOST_LINES = 200
_MOST_OF_A_LINE = 500


class Counts(Struct, frozen=True):
    """Lines that came and lines that went."""

    added: int
    removed: int


def unified(name: str, text: str, new_text: str, hunks: Sequence[Hunk], *, created: bool = False) -> str:
    """The diff of a file between `text` and `new_text`; "" for no change; 200 lines at most, saying so."""
    changes = line_changes(text, hunks)
    if not changes:
        return ""
    lines = [f"--- {'/dev/null' if created else 'a/' + name}", f"+++ b/{name}"]
    body = _body(lines_of(text), lines_of(new_text), changes)
    lines += islice(body, _MOST_LINES)
    left_out = sum(1 for _ in body)
    if left_out:
        lines.append(f"[… {left_out} more lines of this diff left out]")
    return "\n".join(lines) + "\n"


def counts(text: str, hunks: Sequence[Hunk]) -> Counts:
    """How many lines a change adds and removes."""
    changes = line_changes(text, hunks)
    return Counts(sum(change.new_count for change in changes), sum(change.old_count for change in changes))


def _body(old: Sequence[str], new: Sequence[str], changes: Sequence[LineChange]) -> Iterator[str]:
    shift = 0
    for group in _groups(changes):
        first = max(group[0].start - _CONTEXT, 0)
        end = min(group[-1].end + _CONTEXT, len(old))
        grown = sum(change.new_count - change.old_count for change in group)
        yield f"@@ -{_extent(first, end - first)} +{_extent(first + shift, end - first + grown)} @@"
        at = first
        for change in group:
            yield from _marked(" ", old[at : change.start])
            yield from _marked("-", old[change.start : change.end])
            yield from _marked("+", new[change.start + shift : change.start + shift + change.new_count])
            at = change.end
            shift += change.new_count - change.old_count
        yield from _marked(" ", old[at:end])


def _groups(changes: Sequence[LineChange]) -> list[list[LineChange]]:
    """Changes whose surroundings touch, together."""
    groups: list[list[LineChange]] = []
    for change in changes:
        if groups and change.start - groups[-1][-1].end <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _extent(first: int, count: int) -> str:
    start = first + 1 if count else first
    return str(start) if count == 1 else f"{start},{count}"


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + shortened(content_of(line), _MOST_OF_A_LINE)
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
