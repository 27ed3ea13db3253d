from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.workspace.edits import LineEdit, apply
from smith_server.workspace.hunks import LineChange, line_changes
from smith_server.workspace.ledger import Ledger, Step, carried

A = Path("/a")


def step(before, after, *changes):
    return Step(before, after, changes)


def test_a_file_that_was_never_had_is_not_known():
    ledger = Ledger()
    assert (ledger.known(A), ledger.last(A), ledger.text(A, "h0")) == ("", "", None)
    assert ledger.own_since(A, "h0", "h1") is None
    assert ledger.own_since(A, "h0", "h0") == ()


def test_an_older_hash_is_good_while_only_own_edits_lie_between():
    ledger = Ledger()
    ledger.note_read(A, "h0", "0")
    one, two = step("h0", "h1", LineChange(0, 1, 2)), step("h1", "h2")
    ledger.note_edit(A, one, "1")
    ledger.note_edit(A, two, "2")
    assert ledger.own_since(A, "h0", "h2") == (one, two)
    assert ledger.own_since(A, "h1", "h2") == (two,)
    assert ledger.own_since(A, "h0", "h3") is None
    assert (ledger.known(A), ledger.text(A, "h0"), ledger.text(A, "h2")) == ("h2", "0", "2")


def test_reading_own_work_keeps_older_hashes_and_reading_other_work_does_not():
    ledger = Ledger()
    ledger.note_read(A, "h0", "0")
    ledger.note_edit(A, step("h0", "h1"), "1")
    ledger.note_read(A, "h1", "1")
    assert ledger.own_since(A, "h0", "h1") == (step("h0", "h1"),)
    ledger.note_read(A, "theirs", "x")
    assert ledger.own_since(A, "h0", "theirs") is None
    ledger.note_edit(A, step("theirs", "h2"), "2")
    assert ledger.own_since(A, "h0", "h2") is None
    assert ledger.own_since(A, "theirs", "h2") == (step("theirs", "h2"),)


def test_an_edit_over_unseen_text_does_not_make_a_file_known():
    ledger = Ledger()
    ledger.note_read(A, "h0", "0")
    ledger.note_edit(A, step("theirs", "h1"), "1", seen=False)
    assert (ledger.known(A), ledger.last(A)) == ("", "h1")
    ledger.note_read(A, "h1", "1")
    assert ledger.known(A) == "h1"


def test_the_latest_of_two_equal_texts_is_meant():
    ledger = Ledger()
    ledger.note_read(A, "h0", "0")
    for before, after in (("h0", "h1"), ("h1", "h0"), ("h0", "h2")):
        ledger.note_edit(A, step(before, after), after)
    assert ledger.own_since(A, "h0", "h2") == (step("h0", "h2"),)


def test_the_oldest_texts_go_when_there_are_too_many():
    ledger = Ledger(most_characters=10)
    ledger.note_read(A, "h0", "12345")
    ledger.note_read(A, "h1", "12345")
    ledger.note_read(A, "h0", "12345")
    ledger.note_read(A, "h2", "1")
    assert [ledger.text(A, name) for name in ("h0", "h1", "h2")] == ["12345", None, "1"]
    ledger.note_read(A, "h3", "more than there is room for")
    assert [ledger.text(A, name) for name in ("h0", "h2", "h3")] == [None, None, None]
    assert ledger.known(A) == "h3"


@pytest.mark.parametrize(
    ("changes", "lines", "expected"),
    [
        ([LineChange(0, 0, 2)], (5, 7), (7, 9)),
        ([LineChange(9, 1, 0)], (5, 7), (5, 7)),
        ([LineChange(4, 1, 3)], (5, 7), (7, 9)),
        ([LineChange(7, 1, 3)], (5, 7), (5, 7)),
        ([LineChange(5, 1, 1)], (5, 7), None),
        ([LineChange(6, 0, 1)], (5, 7), None),
        ([LineChange(5, 0, 2)], (5, 5), (7, 7)),
        ([LineChange(4, 1, 2)], (5, 5), (6, 6)),
        ([LineChange(5, 2, 1)], (5, 5), (5, 5)),
        ([LineChange(4, 2, 1)], (5, 5), None),
        ([LineChange(0, 1, 2), LineChange(6, 1, 0)], (8, 9), (8, 9)),
    ],
    ids=[
        "insert-above",
        "delete-below",
        "next-above",
        "next-below",
        "overlap",
        "insert-inside",
        "insert-at-place",
        "grown-above-place",
        "replaced-below-place",
        "replaced-around-place",
        "two",
    ],
)
def test_lines_are_carried_through_an_edit(changes, lines, expected):
    assert carried([step("a", "b", *changes)], *lines) == expected


@given(st.data())
def test_edits_that_are_apart_end_as_if_made_at_once(data):
    text = "".join(f"{number}\n" for number in range(12))
    cuts = sorted(data.draw(st.lists(st.integers(0, 12), min_size=2, max_size=8, unique=True)))
    ranges = list(zip(cuts[::2], cuts[1::2], strict=False))
    new = [data.draw(st.sampled_from(["", "x\n", "x\ny\n", "x\ny\nz\n"])) for _ in ranges]
    at_once = text
    for (start, end), content in reversed(list(zip(ranges, new, strict=True))):
        at_once = apply(LineEdit("replace", start + 1, end, content), at_once).text
    steps, current = [], text
    for index in data.draw(st.permutations(range(len(ranges)))):
        start, end = carried(steps, *ranges[index])
        made = apply(LineEdit("replace", start + 1, end, new[index]), current)
        steps.append(step("", "", *line_changes(current, made.hunks)))
        current = made.text
    assert current == at_once
