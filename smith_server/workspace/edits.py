"""Edits as a model words them, made into a new text and the smallest hunks. Pure.

`apply` is the only entry. Line ends come from the text that is edited, never from the model.
"""

from itertools import accumulate, chain
from typing import Literal

from msgspec import Struct

from smith_server.core.editor import Hunk
from smith_server.core.errors import ToolRefusal
from smith_server.workspace.hunks import apply_hunks, block_hunks, hunks_between, joined, line_changes
from smith_server.workspace.linediff import changed_spans
from smith_server.workspace.nearmiss import near_miss
from smith_server.workspace.text import end_of, is_unicode, line_count, lines_of, with_line_feeds


class LineEdit(Struct, frozen=True):
    """Whole lines, counted from 1, `end` included; an insertion goes before line `start`."""

    operation: Literal["replace", "insert", "delete"]
    start: int
    end: int
    content: str = ""


class ExactEdit(Struct, frozen=True):
    """The text `old`, which stands in the file once (or as often as it likes, with `every`), becomes `new`."""

    old: str
    new: str
    every: bool = False


class Rewrite(Struct, frozen=True):
    """The whole text anew; lines that stay the same keep their ends."""

    content: str


Edit = LineEdit | ExactEdit | Rewrite

_MARK = "\ufeff"
"""A mark of the encoding belongs to the file: none is brought in at the begin of a text."""


class Edited(Struct, frozen=True):
    """A text after an edit. Lines `first` to `last` (from 1) are new; none are when `last < first`."""

    text: str
    hunks: tuple[Hunk, ...]
    first: int
    last: int
    line_delta: int


def apply(edit: Edit, text: str, *, keep_final_end: bool = False) -> Edited:
    """`text` after `edit`. With `keep_final_end` no line end at the end of the text comes or goes.

    Raises `ToolRefusal`: `invalid_range`, `range_out_of_bounds`, `empty_insert`, `invalid_text`,
    `empty_old`, `no_match`, `several_matches`.
    """
    match edit:
        case LineEdit():
            hunks = _by_lines(edit, text, keep_final_end)
        case ExactEdit():
            hunks = _exact(edit, text)
        case Rewrite():
            hunks = _rewrite(edit, text)
    new_text = apply_hunks(text, hunks)
    if keep_final_end and isinstance(edit, ExactEdit):
        new_text = _with_final_end_of(text, new_text)
    given = edit.new if isinstance(edit, ExactEdit) else edit.content
    if given.startswith(_MARK) and not text.startswith(_MARK):
        new_text = new_text.removeprefix(_MARK)
    return edited(text, new_text, hunks)


def edited(text: str, new_text: str, hunks: tuple[Hunk, ...] = ()) -> Edited:
    """`new_text` in place of `text`, with the changed lines counted; `hunks` are used if they lead there."""
    if not hunks or apply_hunks(text, hunks) != new_text:
        hunks = hunks_between(text, new_text)
    delta = line_count(new_text) - line_count(text)
    changes = line_changes(text, hunks)
    if not changes:
        return Edited(new_text, hunks, 1, 0, delta)
    shift = sum(change.new_count - change.old_count for change in changes[:-1])
    last = changes[-1].start + shift + changes[-1].new_count
    return Edited(new_text, hunks, changes[0].start + 1, last, delta)


def check_range(edit: LineEdit) -> None:
    """Raise `invalid_range` for lines that no text has."""
    if edit.start < 1 or (edit.operation != "insert" and edit.end < edit.start):
        asked = edit.start if edit.operation == "insert" else f"{edit.start} to {edit.end}"
        raise ToolRefusal(
            "invalid_range", f"Lines {asked} are no range: lines count from 1, and the end is not before the start."
        )


def check_text(text: str) -> None:
    """Raise `invalid_text` for what cannot be part of a text file."""
    if "\0" in text:
        raise ToolRefusal("invalid_text", "The text holds a NUL character, which no text file may have. Leave it out.")
    if not is_unicode(text):
        raise ToolRefusal(
            "invalid_text",
            "The text holds half of a surrogate pair, which cannot be written. Send the whole character.",
        )


def _by_lines(edit: LineEdit, text: str, keep_final_end: bool) -> tuple[Hunk, ...]:
    lines = lines_of(text)
    _check_bounds(edit, len(lines))
    check_text(edit.content)
    if edit.operation == "insert":
        return _insert(edit, lines)
    start, end = edit.start - 1, edit.end
    offset = sum(map(len, lines[:start]))
    old = "".join(lines[start:end])
    content = "" if edit.operation == "delete" else _whole_lines(edit.content)
    if not old.endswith("\n"):
        if keep_final_end and start and not content:
            ending = end_of(lines[start - 1])
            return (Hunk(offset - len(ending), ending + old, ""),)
        content = content.removesuffix("\n")
    return hunks_between(old, content.replace("\n", _ending(lines, start, end)), offset)


def _check_bounds(edit: LineEdit, count: int) -> None:
    check_range(edit)
    most = count + 1 if edit.operation == "insert" else count
    if (edit.start if edit.operation == "insert" else edit.end) > most:
        has = f"it has {count} lines" if count != 1 else "it has one line"
        raise ToolRefusal("range_out_of_bounds", f"The file ends before that: {has if count else 'it is empty'}.")


def _insert(edit: LineEdit, lines: list[str]) -> tuple[Hunk, ...]:
    if not edit.content:
        raise ToolRefusal("empty_insert", "There is nothing to insert. Give the lines in `content`.")
    index = edit.start - 1
    ending = _ending(lines, index, index)
    content = _whole_lines(edit.content).replace("\n", ending)
    if index == len(lines) and lines and not end_of(lines[-1]):
        content = ending + content.removesuffix(ending)
    return (Hunk(sum(map(len, lines[:index])), "", content),)


def _whole_lines(content: str) -> str:
    content = with_line_feeds(content)
    return content if not content or content.endswith("\n") else content + "\n"


def _ending(lines: list[str], start: int, end: int) -> str:
    """The end for new lines in place of `lines[start:end]`: of the first of these, of one before, of one after."""
    nearest_first = chain(range(start, min(start + 1, end)), range(start - 1, -1, -1), range(start, len(lines)))
    return next((ending for index in nearest_first if (ending := end_of(lines[index]))), "\n")


def _exact(edit: ExactEdit, text: str) -> tuple[Hunk, ...]:
    check_text(edit.new)
    if not edit.old:
        raise ToolRefusal("empty_old", "`old` is empty. Give the text to replace, or use `write` or `edit`.")
    lines = lines_of(text)
    shown = [with_line_feeds(line) for line in lines] if "\r\n" in text else lines
    plain = "".join(shown)
    old = next((old for old in (with_line_feeds(edit.old), edit.old) if old in plain), "")
    if not old:
        raise ToolRefusal("no_match", near_miss(shown, with_line_feeds(edit.old)))
    places = _places(plain, old)
    if len(places) > 1 and not edit.every:
        raise _several(plain, places)
    return _at_places(lines, shown, places, ExactEdit(old, with_line_feeds(edit.new)))


def _places(text: str, old: str) -> list[int]:
    places, at = [], text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _several(text: str, places: list[int]) -> ToolRefusal:
    numbers = [text.count("\n", 0, place) + 1 for place in places[:10]]
    named = ", ".join(map(str, numbers)) + (", …" if len(places) > len(numbers) else "")
    return ToolRefusal(
        "several_matches",
        f"`old` stands in the file {len(places)} times (lines {named}). Give more of the text around the one "
        "that is meant, or set `all`.",
    )


def _at_places(lines: list[str], shown: list[str], places: list[int], edit: ExactEdit) -> tuple[Hunk, ...]:
    """Hunks for every place; places that share lines are worked on as one region of whole lines."""
    old, new = edit.old, edit.new
    starts = list(accumulate(map(len, shown), initial=0))
    offsets = list(accumulate(map(len, lines), initial=0))
    plain = "".join(shown)
    hunks: list[Hunk] = []
    for first, last, members in _regions(starts, places, len(old)):
        pieces, done = [], starts[first]
        for place in members:
            pieces += [plain[done:place], new]
            done = place + len(old)
        pieces.append(plain[done : starts[last]])
        hunks += _fitted(lines, (first, last), offsets[first], "".join(pieces))
    return joined(hunks)


def _regions(starts: list[int], places: list[int], length: int) -> list[tuple[int, int, list[int]]]:
    """(first line, line after the last, places) for places whose lines are apart from each other."""
    regions: list[tuple[int, int, list[int]]] = []
    line = 0
    for place in places:
        while starts[line + 1] <= place:
            line += 1
        last = line
        while starts[last + 1] < place + length:
            last += 1
        if regions and line < regions[-1][1]:
            first, _, members = regions[-1]
            members.append(place)
            regions[-1] = (first, last + 1, members)
        else:
            regions.append((line, last + 1, [place]))
    return regions


def _rewrite(edit: Rewrite, text: str) -> tuple[Hunk, ...]:
    check_text(edit.content)
    content = with_line_feeds(_with_final_end_of(text, with_line_feeds(edit.content)))
    lines = lines_of(text)
    return joined(_fitted(lines, (0, len(lines)), 0, content))


def _with_final_end_of(text: str, new_text: str) -> str:
    """`new_text`, its last line ended or not ended as in `text`; an empty text says nothing of that."""
    if not text or not new_text or text.endswith("\n") == new_text.endswith("\n"):
        return new_text
    if text.endswith("\n"):
        return new_text + ("\r\n" if text.endswith("\r\n") else "\n")
    return new_text.removesuffix("\n").removesuffix("\r")


def _fitted(lines: list[str], region: tuple[int, int], offset: int, content: str) -> list[Hunk]:
    """Hunks that give the lines of `region` the content (with LF), the ends of all that stays kept."""
    first, last = region
    old = lines[first:last]
    new = lines_of(content)
    offsets = list(accumulate(map(len, old), initial=offset))
    hunks: list[Hunk] = []
    for span in changed_spans([with_line_feeds(line) for line in old], new):
        start, end = first + span.old_start, first + span.old_end
        block = new[span.new_start : span.new_end]
        paired = end - start == len(block)
        ends = [end_of(line) for line in lines[start:end]] if paired else []
        fallback = _ending(lines, start, end)
        block = [line.replace("\n", (ends[index] if paired else "") or fallback) for index, line in enumerate(block)]
        hunks += block_hunks(lines[start:end], block, offsets[span.old_start])
    return hunks
