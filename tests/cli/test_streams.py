"""What reaches a terminal is shown by it, never obeyed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.cli.streams import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\x1b]0;title\x07b", "a]0;titleb"),
        ("\x9b31mred\x85", "31mred"),
        ("100%\rdone\x08\x7f", "100%done"),
        ("rm \u202etxt.exe\u2066\u200f", "rm txt.exe"),
        (
            "caf\u00e9\u00a0\u3000\u4e2d \U0001f468\u200d\U0001f469",
            "caf\u00e9\u00a0\u3000\u4e2d \U0001f468\u200d\U0001f469",
        ),
    ],
    ids=["tab and line", "title", "one-byte controls", "overwriting", "turned text", "letters and blanks of all kinds"],
)
def test_control_characters_are_left_out_and_letters_are_not(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_no_control_character_is_left_and_nothing_else_is_lost(text: str) -> None:
    shown = printable(text)
    assert all(unicodedata.category(char) != "Cc" or char in "\n\t" for char in shown)
    visible = [char for char in text if unicodedata.category(char) not in ("Cc", "Cf")]
    assert visible == [char for char in shown if unicodedata.category(char) not in ("Cc", "Cf")]
