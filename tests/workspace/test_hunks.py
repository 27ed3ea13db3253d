import itertools

import pytest
from hypothesis import given

from smith_server.core.editor import Hunk
from smith_server.workspace.hunks import LineChange, apply_hunks, hunks_between, joined, line_changes
from smith_server.workspace.text import line_count, lines_of
from tests.workspace import odd


@given(odd.texts, odd.texts)
def test_hunks_make_the_new_text_and_stand_apart(old, new):
    hunks = hunks_between(old, new)
    assert apply_hunks(old, hunks) == new
    assert all(one.end < two.start for one, two in itertools.pairwise(hunks))
    assert all(hunk.old != hunk.new for hunk in hunks)


@given(odd.line_texts, odd.line_texts)
def test_hunks_never_part_a_crlf(old, new):
    for hunk in hunks_between(old, new):
        assert old[hunk.start - 1 : hunk.start + 1] != "\r\n" or hunk.start == 0
        assert old[hunk.end - 1 : hunk.end + 1] != "\r\n" or hunk.end == 0
        assert hunk.new[:1] != "\n" or hunk.start == 0 or old[hunk.start - 1] != "\r"


@given(odd.texts, odd.texts)
def test_line_changes_tell_which_lines_stay(old, new):
    changes = line_changes(old, hunks_between(old, new))
    before, after = lines_of(old), lines_of(new)
    kept, done = [], 0
    shift = 0
    for change in changes:
        kept += [(index, index + shift) for index in range(done, change.start)]
        done = change.end
        shift += change.new_count - change.old_count
    kept += [(index, index + shift) for index in range(done, len(before))]
    assert shift == line_count(new) - line_count(old)
    assert [before[one].rstrip("\r\n") for one, _ in kept] == [after[two].rstrip("\r\n") for _, two in kept]


@pytest.mark.parametrize(
    ("old", "new", "hunks"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", [Hunk(2, "b", "B")]),
        ("a\nb\n", "a\nx\nb\n", [Hunk(2, "", "x\n")]),
        ("a\nb\nc\n", "a\nc\n", [Hunk(2, "b\n", "")]),
        ("one two\nthree four\n", "one 2\nthree 4\n", [Hunk(4, "two", "2"), Hunk(14, "four", "4")]),
        ("a\r\n", "a\rb\n", [Hunk(1, "\r\n", "\rb\n")]),
        ("e\n", "e\u0301\n", [Hunk(0, "e", "e\u0301")]),
        ("a", "a\nb", [Hunk(1, "", "\nb")]),
        ("a\n", "b\r\n", [Hunk(0, "a\n", "b\r\n")]),
        ("x😀y\n", "x😁y\n", [Hunk(1, "😀", "😁")]),
    ],
    ids=["char", "insert", "delete", "line-by-line", "crlf", "combining", "open-end", "other-end", "emoji"],
)
def test_a_hunk_is_as_small_as_it_can_be(old, new, hunks):
    assert list(hunks_between(old, new)) == hunks


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("a\nb\nc\n", "a\nx\ny\nc\n", [LineChange(1, 1, 2)]),
        ("a\nb\n", "a\nx\nb\n", [LineChange(1, 0, 1)]),
        ("a", "a\nx", [LineChange(1, 0, 1)]),
        ("a\nb", "a\n", [LineChange(1, 1, 0)]),
        ("a\nb", "a", [LineChange(0, 2, 1)]),
        ("", "x\n", [LineChange(0, 0, 1)]),
    ],
    ids=["grow", "insert", "append-open", "drop-open", "drop-end", "from-empty"],
)
def test_hunks_are_counted_in_lines(old, new, changes):
    assert list(line_changes(old, hunks_between(old, new))) == changes


def test_hunks_that_touch_become_one():
    assert joined([Hunk(0, "a", "b"), Hunk(1, "c", "d"), Hunk(4, "x", "")]) == (Hunk(0, "ac", "bd"), Hunk(4, "x", ""))


@pytest.mark.parametrize("hunk", [Hunk(1, "a", "b"), Hunk(9, "a", "b")], ids=["other-text", "past-the-end"])
def test_a_hunk_that_does_not_fit_is_not_applied(hunk):
    with pytest.raises(ValueError, match="not what the hunk replaces"):
        apply_hunks("ab", [Hunk(0, "a", "x"), hunk])
