import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.store.excerpt import Excerpt, Wanted, excerpt, words_in


def marked(found: Excerpt) -> list[str]:
    return [found.text[start:end] for start, end in found.marks]


def test_words_are_letters_and_digits_without_case_and_accents() -> None:
    assert words_in("Foo_bar: ÉTÉ, naïve-2 日本") == ["foo", "bar", "ete", "naive", "2", "日本"]


@pytest.mark.parametrize(
    ("text", "wanted", "shown", "marks"),
    [
        ("one two", Wanted(frozenset({"two"})), "one two", ["two"]),
        (" one\n\n\ttwo  ", Wanted(frozenset({"two"})), "one two", ["two"]),
        ("needles, Needle", Wanted(frozenset({"needle"})), "needles, Needle", ["Needle"]),
        ("needles, Needle", Wanted(frozenset({"needle"}), "needle"), "needles, Needle", ["needles", "Needle"]),
        ("un été", Wanted(frozenset({"ete"})), "un été", ["été"]),
        ("nothing here", Wanted(frozenset({"else"})), "nothing here", []),
        ("", Wanted(frozenset({"else"})), "", []),
    ],
    ids=["word", "blanks", "whole word", "beginning", "accents", "no match", "no text"],
)
def test_a_short_text_is_shown_whole_on_one_line(text: str, wanted: Wanted, shown: str, marks: list[str]) -> None:
    found = excerpt(text, wanted)
    assert (found.text, marked(found)) == (shown, marks)


def test_of_a_long_text_the_place_with_the_most_of_the_words_is_shown() -> None:
    text = f"alpha {'x ' * 300}beta and then alpha {'y ' * 300}beta"
    found = excerpt(text, Wanted(frozenset({"alpha", "beta"})))
    assert marked(found) == ["beta", "alpha"]
    assert found.text.startswith("…x x") and found.text.endswith("y…")
    assert "beta and then alpha" in found.text
    assert len(found.text) <= 162


def test_a_word_longer_than_an_excerpt_is_cut() -> None:
    found = excerpt(f"{'x ' * 100}{'z' * 500}", Wanted(frozenset({"z" * 500})))
    assert found.marks == () and len(found.text) <= 162


@given(st.text(max_size=400), st.frozensets(st.text(min_size=1, max_size=3), max_size=3), st.text(max_size=2))
def test_marks_lie_inside_of_a_short_line_and_show_wanted_words(
    text: str, words: frozenset[str], beginning: str
) -> None:
    found = excerpt(text, Wanted(words, beginning))
    assert len(found.text) <= 162
    assert not any(char in found.text for char in "\r\n\t")
    for shown in marked(found):
        (word,) = words_in(shown)
        assert word in words or (beginning and word.startswith(beginning))
