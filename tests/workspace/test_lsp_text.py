import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import AgentFailure
from smith_server.workspace.lsp_text import (
    Counting,
    Position,
    Range,
    TextEdit,
    apply_change,
    apply_edits,
    offset_of,
    position_of,
    positions_of,
    split_lines,
)
from tests.workspace import odd

encodings = st.sampled_from(["utf-8", "utf-16", "utf-32"])
all_ends = st.sampled_from(["lf", "lsp"])
countings = st.builds(Counting, encodings, all_ends)
UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def naive_position(text, offset, counting):
    ends = list(re.finditer(r"\n" if counting.ends == "lf" else r"\r\n|\n|\r", text))
    past = [match.end() for match in ends if match.end() <= offset]
    codec, width = UNITS[counting.encoding]
    return Position(len(past), len(text[(past[-1] if past else 0) : offset].encode(codec)) // width)


def places(text, ends):
    """Offsets that a client may name: not inside a line end, as that client counts them."""
    return [at for at in range(len(text) + 1) if ends == "lf" or text[at - 1 : at + 1] != "\r\n" or at == 0]


@given(odd.texts, all_ends)
def test_lines_keep_the_text_and_the_protocol_can_count_them(text, ends):
    lines = split_lines(text, ends)
    assert "".join(lines) == text
    assert len(lines) == 1 + len(re.findall(r"\n" if ends == "lf" else r"\r\n|\n|\r", text))


@given(odd.texts, countings, st.data())
def test_offsets_and_positions_are_two_names_of_one_place(text, counting, data):
    lines = split_lines(text, counting.ends)
    offset = data.draw(st.sampled_from(places(text, counting.ends)))
    position = naive_position(text, offset, counting)
    assert position_of(lines, offset, counting) == position
    assert offset_of(lines, position, counting) == offset


@given(odd.texts, countings)
def test_all_positions_are_found_in_one_walk(text, counting):
    lines = split_lines(text, counting.ends)
    offsets = places(text, counting.ends)
    assert positions_of(lines, offsets, counting) == [naive_position(text, offset, counting) for offset in offsets]


@given(odd.texts, odd.texts, countings, st.data())
def test_a_change_of_lines_is_a_change_of_the_text(text, new_text, counting, data):
    start, end = sorted(data.draw(st.tuples(*[st.sampled_from(places(text, counting.ends))] * 2)))
    change = Range(naive_position(text, start, counting), naive_position(text, end, counting))
    lines = tuple(split_lines(text, counting.ends))
    expected = text[:start] + new_text + text[end:]
    assert apply_change(lines, change, new_text, counting) == split_lines(expected, counting.ends)


@pytest.mark.parametrize(
    ("text", "position", "counting", "offset"),
    [
        ("ab\r\ncd", (0, 99), Counting("utf-16", "lsp"), 2),
        ("ab\r\ncd", (0, 3), Counting("utf-16", "lsp"), 2),
        ("ab\r\ncd", (0, 3), Counting("utf-16", "lf"), 3),
        ("ab\r\ncd", (0, 99), Counting("utf-16", "lf"), 2),
        ("ab\rcd", (0, 99), Counting("utf-16", "lsp"), 2),
        ("ab\rcd", (1, 1), Counting("utf-16", "lsp"), 4),
        ("ab\rcd", (0, 4), Counting("utf-16", "lf"), 4),
        ("ab\r", (0, 99), Counting("utf-16", "lf"), 3),
        ("ab\n", (7, 0), Counting(), 3),
        ("", (0, 5), Counting(), 0),
        ("😀x", (0, 2), Counting("utf-16"), 1),
        ("😀x", (0, 4), Counting("utf-8"), 1),
        ("😀x", (0, 1), Counting("utf-32"), 1),
    ],
)
def test_what_lies_past_a_line_or_the_text_falls_back_to_its_end(text, position, counting, offset):
    assert offset_of(split_lines(text, counting.ends), Position(*position), counting) == offset


@pytest.mark.parametrize(
    ("start", "end", "encoding"),
    [((0, 1), (0, 1), "utf-16"), ((0, 2), (0, 2), "utf-8"), ((0, -1), (0, 0), "utf-16"), ((1, 0), (0, 0), "utf-16")],
    ids=["surrogate-pair", "utf8-bytes", "negative", "backwards"],
)
def test_places_that_cannot_be_meant_are_refused(start, end, encoding):
    change = Range(Position(*start), Position(*end))
    counting = Counting(encoding)
    for call in (
        lambda: apply_change(split_lines("😀\nb", "lsp"), change, "", counting),
        lambda: apply_edits("😀\nb", [TextEdit(change, "")], counting),
    ):
        with pytest.raises(AgentFailure) as caught:
            call()
        assert caught.value.error.code == "invalid_position"


def test_inserts_at_one_place_keep_their_order():
    here = Range(Position(0, 1), Position(0, 1))
    assert apply_edits("ac", [TextEdit(here, "1"), TextEdit(here, "2")]) == "a12c"


def test_a_change_copies_the_lines_and_leaves_the_old_ones():
    lines = ("a\n", "b\n", "")
    assert apply_change(lines, Range(Position(1, 0), Position(1, 1)), "x", Counting()) == ["a\n", "x\n", ""]
    assert lines == ("a\n", "b\n", "")
