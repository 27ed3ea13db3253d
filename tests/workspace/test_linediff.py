import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.workspace.linediff import Span, changed_spans

lines = st.lists(st.sampled_from("abcdef"), max_size=30)


def rebuilt(old, new, spans):
    out, done = [], 0
    for span in spans:
        out += old[done : span.old_start] + new[span.new_start : span.new_end]
        done = span.old_end
    return out + old[done:]


def longest_common(old, new):
    row = [0] * (len(new) + 1)
    for a in old:
        before = row
        row = [0]
        for index, b in enumerate(new):
            row.append(before[index] + 1 if a == b else max(before[index + 1], row[index]))
    return row[-1]


@given(lines, lines)
def test_the_spans_make_the_new_lines_of_the_old_ones(old, new):
    spans = changed_spans(old, new)
    assert rebuilt(old, new, spans) == new
    assert all(one.old_end < two.old_start and one.new_end < two.new_start for one, two in itertools.pairwise(spans))


@given(lines, lines)
def test_no_fewer_lines_could_be_changed(old, new):
    kept = longest_common(old, new)
    spans = changed_spans(old, new)
    assert sum(span.old_end - span.old_start for span in spans) == len(old) - kept
    assert sum(span.new_end - span.new_start for span in spans) == len(new) - kept


@pytest.mark.parametrize(
    ("old", "new", "spans"),
    [
        ("abc", "abc", []),
        ("", "ab", [Span(0, 0, 0, 2)]),
        ("abc", "axc", [Span(1, 2, 1, 2)]),
        ("abcd", "bcde", [Span(0, 1, 0, 0), Span(4, 4, 3, 4)]),
    ],
    ids=["same", "from-nothing", "one", "both-ends"],
)
def test_small_differences_are_found_exactly(old, new, spans):
    assert changed_spans(old, new) == spans


def test_large_texts_with_many_changes_are_divided_at_lines_that_occur_once():
    old = [f"line {number}" for number in range(20_000)]
    new = [line + "!" if index % 7 == 0 else line for index, line in enumerate(old)]
    spans = changed_spans(old, new)
    assert rebuilt(old, new, spans) == new
    assert len(spans) == len(range(0, 20_000, 7))


@pytest.mark.parametrize("alphabet", [1, 2, 50, 10**9], ids=["one-line", "two-lines", "few-lines", "all-different"])
def test_texts_that_have_little_in_common_still_end_soon(alphabet):
    chance = random.Random(alphabet)
    old = [str(chance.randrange(alphabet)) for _ in range(30_000)]
    new = [str(chance.randrange(alphabet)) for _ in range(29_000)]
    assert rebuilt(old, new, changed_spans(old, new)) == new
