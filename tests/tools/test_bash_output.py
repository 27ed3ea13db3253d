import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.tools.output import MODEL_BYTES, shorten, visible

TEXTS = st.text(st.sampled_from("ab é€😀\n"), max_size=400)
GAP = re.compile(r"\n?\[(\d+) bytes(?: \((\d+) lines\))? left out here\]\n")


@given(text=TEXTS, limit=st.integers(2, 300))
def test_both_ends_are_kept_and_the_gap_is_counted(text: str, limit: int) -> None:
    short = shorten(text, limit=limit)

    if len(text.encode()) <= limit:
        assert short == text
        return
    gap = GAP.search(short)
    assert gap is not None
    last = short[gap.end() :]
    first = next(each for each in (short[: gap.start()], short[: gap.start()] + "\n") if told(text, each, last, gap))
    assert len((first + last).encode()) <= limit


def told(text: str, first: str, last: str, gap: re.Match[str]) -> bool:
    left_out = len(text.encode()) - len((first + last).encode())
    lines = text.count("\n") - (first + last).count("\n")
    counted = (int(gap[1]), int(gap[2] or 0)) == (left_out, lines)
    return counted and text.startswith(first) and text.endswith(last)


@pytest.mark.parametrize(
    ("head", "tail", "limit", "short"),
    [
        ("one\n", "two\n", 100, "one\n[7 bytes (2 lines) left out here]\ntwo\n"),
        ("one", "two", 100, "one\n[7 bytes (2 lines) left out here]\ntwo"),
        ("one\none\n", "two\ntwo\n", 8, "one\n[15 bytes (4 lines) left out here]\ntwo\n"),
        ("", "two\n", 100, "[7 bytes (2 lines) left out here]\ntwo\n"),
    ],
    ids=["whole lines", "parts of lines", "cut once more", "no head"],
)
def test_what_was_left_out_before_is_told_too(head: str, tail: str, limit: int, short: str) -> None:
    assert shorten(head, tail, 7, 2, limit) == short


def test_a_text_of_just_the_limit_stays_whole() -> None:
    text = "x" * MODEL_BYTES

    assert shorten(text) == text
    assert shorten(text + "y").startswith("x" * 100)
    assert "[1 bytes left out here]" in shorten(text + "y")


@given(text=st.text())
def test_nothing_invisible_is_left_and_the_rest_is_untouched(text: str) -> None:
    seen = visible(text)

    assert seen.isprintable()
    assert not text.isascii() or not text.isprintable() or seen == text
