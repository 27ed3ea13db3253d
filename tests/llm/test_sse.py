"""Bytes to events: framing only."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smith_server.llm.sse import Event, EventDecoder

MIXED = (
    b": hello\n\nevent: ping\ndata: {}\n\n"
    b'data: {"a": "\xe2\x80\xa8\xc2\x85\x0b\x0c\x1c \xf0\x9f\x99\x82"}\n\n'
    b'data: {"b":\ndata: 1}\n: between\n\n\ndata\ndata:  two blanks\n\nid: 7\nretry: 3\n\ndata: \n\ndata:last\n\n'
)
EVENTS = [
    Event(b"{}", "ping"),
    Event(b'{"a": "\xe2\x80\xa8\xc2\x85\x0b\x0c\x1c \xf0\x9f\x99\x82"}'),
    Event(b'{"b":\n1}'),
    Event(b"\n two blanks"),
    Event(b"last"),
]


def decoded(chunks: list[bytes]) -> list[Event]:
    decoder = EventDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with mark"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, len(MIXED) * 2), max_size=12))
def test_events_are_the_same_however_they_are_cut(mark: bytes, line_end: bytes, cuts: list[int]) -> None:
    data = mark + MIXED.replace(b"\n", line_end)
    places = [0, *sorted(cuts), len(data)]
    assert decoded([data[begin:end] for begin, end in pairwise(places)]) == EVENTS


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_events_are_the_same_byte_by_byte(line_end: bytes) -> None:
    data = MIXED.replace(b"\n", line_end)
    assert decoded([data[at : at + 1] for at in range(len(data))]) == EVENTS


LINES = (b"event: a", b"event: b", b"event:a", b"event: ", b"event: data: a", b"event", b"id: 1", b": word")
DATA = (b"data: 1", b"data: event: a", b"data: data: 2", b"data:3", b"data: ", b"data:  ", b"data", b"error: {}")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from((*LINES, *DATA, *[b""] * 8, *DATA[:2] * 3, *LINES[:2] * 3)), max_size=20),
    st.integers(0, 20),
)
@example([b"event: a", b"id: 1", b"data: 1", b""] * 2, 20)
@example([b"event: data: a", b"data: 1", b""] * 2, 20)
def test_events_are_the_same_whatever_the_one_before_began_with(lines: list[bytes], cut: int) -> None:
    one_by_one = [line + b"\n" for line in lines]
    assert decoded([b"".join(one_by_one[:cut]), b"".join(one_by_one[cut:])]) == decoded(one_by_one)


def test_an_event_is_there_as_soon_as_its_blank_line_is() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"\n\r") == [Event(b"a")]
    assert decoder.feed(b"\ndata: b\r\r") == [Event(b"b")]


def test_comments_are_counted_and_nothing_else_is() -> None:
    decoder = EventDecoder()
    decoder.feed(b": one\n\n:two\ndata: x\n\n: thr")
    assert decoder.comments == 2
    decoder.feed(b"ee\n")
    assert decoder.comments == 3


def test_the_last_event_needs_no_blank_line() -> None:
    assert decoded([b"data: a\n\ndata: b"]) == [Event(b"a"), Event(b"b")]
    assert decoded([b"data: a\n\ndata: b\n"]) == [Event(b"a"), Event(b"b")]
    assert decoded([b"data: a\n\nevent: x"]) == [Event(b"a")]


def test_an_error_field_counts_as_data_when_it_holds_an_object() -> None:
    assert decoded([b'error: {"code": 429}\n\n']) == [Event(b'{"error":{"code": 429}}')]
    assert decoded([b"error: out of memory\n\n"]) == []


def test_what_is_held_back_is_told_and_given_up_with_its_event() -> None:
    decoder = EventDecoder()
    decoder.feed(b"data: 12345")
    assert decoder.pending == 11
    decoder.feed(b"678\ndata: 9")
    assert decoder.pending == 15
    decoder.feed(b"\n\n")
    assert decoder.pending == 0


def test_one_large_event_in_small_reads_is_joined_once() -> None:
    decoder = EventDecoder()
    decoder.feed(b"data: ")
    for _ in range(50_000):
        assert decoder.feed(b"0123456789") == []
    assert [len(event.data) for event in decoder.feed(b"\n\n")] == [500_000]
