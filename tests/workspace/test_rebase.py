import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.workspace.edits import ExactEdit, LineEdit, apply
from smith_server.workspace.rebase import rebased

BASE = "".join(f"{number}\n" for number in range(1, 11))


@pytest.mark.parametrize(
    ("edit", "current", "expected"),
    [
        (
            LineEdit("replace", 8, 8, "eight"),
            BASE.replace("2\n", "two\nand\n"),
            "1\ntwo\nand\n3\n4\n5\n6\n7\neight\n9\n10\n",
        ),
        (LineEdit("delete", 2, 2), BASE.replace("8\n", ""), "1\n3\n4\n5\n6\n7\n9\n10\n"),
        (LineEdit("insert", 5, 5, "x"), BASE.replace("1\n2\n", ""), "3\n4\nx\n5\n6\n7\n8\n9\n10\n"),
        (ExactEdit("8\n", "eight\n"), "top\n" + BASE, "top\n1\n2\n3\n4\n5\n6\n7\neight\n9\n10\n"),
        (LineEdit("replace", 5, 5, "five"), BASE.replace("5\n", "5 user\n"), None),
        (LineEdit("replace", 5, 5, "five"), BASE.replace("4\n", "4 user\n"), None),
        (LineEdit("replace", 5, 5, "five"), BASE.replace("6\n", "6 user\n"), None),
        (LineEdit("replace", 5, 6, "five"), BASE.replace("6\n", ""), None),
        (LineEdit("insert", 5, 5, "x"), BASE.replace("5\n", "user\n5\n"), None),
        (LineEdit("replace", 4, 6, "x"), BASE.replace("5\n", "user\n5\n"), None),
    ],
    ids=[
        "below",
        "above",
        "insert",
        "exact",
        "same-line",
        "next-above",
        "next-below",
        "deleted",
        "same-place",
        "inside",
    ],
)
def test_an_edit_is_moved_where_it_is_apart_from_what_the_user_did(edit, current, expected):
    made = rebased(apply(edit, BASE), BASE, current)
    assert (made.text if made else None) == expected


def test_the_lines_of_a_moved_edit_are_counted_in_the_current_text():
    made = rebased(apply(LineEdit("replace", 8, 8, "x\ny"), BASE), BASE, "top\n" + BASE)
    assert (made.first, made.last, made.line_delta) == (9, 10, 1)


@given(st.data())
def test_no_line_that_the_user_wrote_is_ever_touched(data):
    edit = data.draw(
        st.builds(
            LineEdit, st.just("replace"), st.integers(1, 5), st.integers(6, 10), st.sampled_from(["", "x", "x\ny"])
        )
    )
    lines = BASE.splitlines(keepends=True)
    at = data.draw(st.integers(0, 10))
    gone = data.draw(st.integers(0, 2))
    current = "".join([*lines[:at], "user\n", *lines[at + gone :]])
    made = rebased(apply(edit, BASE), BASE, current)
    if at + gone < edit.start - 1 or at > edit.end:
        assert made is not None
    if made is not None:
        assert "user\n" in made.text
        assert made.text.replace("user\n", "").count("\n") == current.count("\n") - 1 + made.line_delta
