"""What is told when an edit is for a text that is no longer there: to the model, and in brief to the person. Pure."""

from smith_server.core.errors import ToolRefusal
from smith_server.workspace.edits import Edit, ExactEdit, LineEdit, Rewrite
from smith_server.workspace.excerpt import around
from smith_server.workspace.ground import Ground
from smith_server.workspace.hunks import LineChange, hunks_between, line_changes
from smith_server.workspace.text import with_line_feeds


def mismatch(ground: Ground, edit: Edit, base: str | None, why: str = "") -> ToolRefusal:
    """`hash_mismatch`, with the current lines around what was meant. `base` is the text of the given hash, if kept."""
    name = ground.place.name
    changes = line_changes(base, hunks_between(base, ground.text)) if base is not None else ()
    said = why or f"{name} is not the text of that hash any more"
    if isinstance(edit, Rewrite):
        where = (changes[0].start + 1, changes[0].start + changes[0].new_count) if changes else None
        advice = "Nothing was written. Read the file again before you write all of it."
    else:
        where = _target(edit, base if base is not None else ground.text, changes)
        advice = f"Nothing was changed. It has hash {ground.hash} now; look at the current lines and try again."
    current = around(ground.text, *where) if where else ""
    happened = "was changed meanwhile" if base is not None else "is not as it was read"
    brief = f"{name} {happened}; nothing was changed."
    return ToolRefusal("hash_mismatch", f"{said}. {advice}", current=current, hash=ground.hash, brief=brief)


def _target(edit: LineEdit | ExactEdit, base: str, changes: tuple[LineChange, ...]) -> tuple[int, int]:
    if isinstance(edit, LineEdit):
        first, last = edit.start, max(edit.start, edit.end)
    else:
        plain, old = with_line_feeds(base), with_line_feeds(edit.old)
        first = plain.count("\n", 0, max(plain.find(old), 0)) + 1
        last = first + old.rstrip("\n").count("\n")
    return _moved(first, changes), _moved(last, changes)


def _moved(line: int, changes: tuple[LineChange, ...]) -> int:
    """Where line `line` (from 1) of the old text is now, or the end of what took its place."""
    shift = 0
    for change in changes:
        if change.end < line:
            shift += change.new_count - change.old_count
        elif change.start < line:
            return change.start + shift + min(line - change.start, change.new_count)
    return line + shift
