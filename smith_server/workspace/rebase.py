"""An edit made for an older text, moved onto the current one where the two are apart. Pure.

Lines that both sides changed, and lines next to each other, are never merged.
"""

from smith_server.core.editor import Hunk
from smith_server.workspace.edits import Edited, edited
from smith_server.workspace.hunks import apply_hunks, hunks_between, line_changes


def rebased(ours: Edited, base: str, current: str) -> Edited | None:
    """The edit `ours`, which was worked out on `base`, on `current`; None when they meet."""
    theirs = hunks_between(base, current)
    their_changes, our_changes = line_changes(base, theirs), line_changes(base, ours.hunks)
    if any(one.start <= two.end and two.start <= one.end for one in our_changes for two in their_changes):
        return None
    moved = tuple(Hunk(hunk.start + _shift(theirs, hunk.start), hunk.old, hunk.new) for hunk in ours.hunks)
    return edited(current, apply_hunks(current, moved), moved)


def _shift(theirs: tuple[Hunk, ...], offset: int) -> int:
    return sum(len(hunk.new) - len(hunk.old) for hunk in theirs if hunk.start < offset)
