import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.proc.clean import LONGEST_LINE, Cleaner, clean

PIECES = st.sampled_from(
    [
        b"\x1b",
        b"\x1b[",
        b"31m",
        b"\x1b]0;",
        b"\x1b\\",
        b"\x07",
        b"\x1bP",
        b"\xc2\x9b",
        b"\r",
        b"\n",
        b"\r\n",
        b"\b",
        b"\0",
        b"50%",
        b"word ",
        "é€😀".encode(),
        b"\xe2\x82",
        b"\xff",
        b"x" * (LONGEST_LINE // 2 + 7),
        b"]" * 5000,
    ]
)
OUTPUTS = st.lists(PIECES | st.binary(max_size=6), max_size=30).map(b"".join)


@given(data=OUTPUTS, cuts=st.lists(st.integers(0, 60_000), max_size=12))
def test_where_the_pieces_are_cut_does_not_change_the_text(data: bytes, cuts: list[int]) -> None:
    cleaner = Cleaner()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    given_out = [cleaner.feed(data[start:end]) for start, end in itertools.pairwise(places)]

    assert "".join(given_out) + cleaner.finish() == clean(data)


@given(data=OUTPUTS)
def test_no_control_character_but_tab_and_newline_survives(data: bytes) -> None:
    text = clean(data)

    assert not {char for char in text if ord(char) < 32 or 127 <= ord(char) < 160} - {"\t", "\n"}


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\t\n")))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert clean(text.encode()) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m and \x1b[38;2;1;2;3mmore\x1b[m", "red and more"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        (b"a\x1bPq#0;2;0;0;0\x1b\\b\x1b_Gf=24;AAAA\x1b\\c", "abc"),
        (b"\x1b(B\x1b=\x1b>\x1b7\x1b8\x1bcplain", "plain"),
        ("\u009b31mred\u009d0;t\u009cx".encode(), "redx"),
        (b"cut off \x1b[31", "cut off "),
        (b"\x1b]0;never ended\nnext line", "\nnext line"),
        (b"10%\r20%\r100%\ndone", "100%\ndone"),
        (b"one\r\ntwo\r\r\nthree\r", "one\ntwo\nthree"),
        (b"\rfirst", "first"),
        (b"|\b/\b-\bdone", "done"),
        (b"a\0b\a\x7f\x0cc", "a\ufffdbc"),
        (b"caf\xe9 \xe2\x82", "caf\ufffd \ufffd"),
    ],
    ids=[
        "colours",
        "titles and links",
        "images",
        "modes",
        "one-byte introducers",
        "unfinished",
        "a title without an end",
        "a progress bar",
        "carriage return before newline",
        "carriage return before anything",
        "a spinner",
        "nul, bell, delete, form feed",
        "no UTF-8",
    ],
)
def test_what_a_terminal_would_swallow_is_left_out(data: bytes, text: str) -> None:
    assert clean(data) == text


def test_a_line_drawn_over_100_000_times_keeps_its_last_state() -> None:
    data = b"".join(b"%d%%\r" % step for step in range(100_000))

    assert clean(b"start\n" + data + b"\nend\n") == "start\n99999%\nend\n"


def test_an_unfinished_line_can_be_seen_before_its_end() -> None:
    cleaner = Cleaner()

    assert cleaner.feed(b"one\ntwo") == "one\n"
    assert cleaner.release() == "two"
    assert cleaner.feed(b" and\n") == " and\n"


def test_a_line_that_was_seen_and_is_drawn_over_goes_on_below_when_it_is_settled() -> None:
    cleaner = Cleaner()
    cleaner.feed(b"10%")

    assert cleaner.release() == "10%"
    assert cleaner.feed(b"\r20%") == "\n"
    assert cleaner.release() == ""
    assert cleaner.feed(b"\r30%\n") == "30%\n"


def test_a_line_without_end_is_given_out_in_parts() -> None:
    cleaner = Cleaner()

    assert cleaner.feed(b"x" * (3 * LONGEST_LINE + 1)) == "x" * (3 * LONGEST_LINE)
    assert cleaner.finish() == "x"
