import itertools

from hypothesis import given
from hypothesis import strategies as st

from smith_server.proc.clean import clean
from smith_server.proc.output import Kept, Output

LINES = st.lists(st.text(st.sampled_from("ab é€😀")).map(lambda line: line.encode() + b"\n"), max_size=40).map(b"".join)


def kept(data: bytes, limit: int, cuts: list[int]) -> Output:
    store = Kept(limit)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(places):
        store.feed(data[start:end])
    return store.output()


@given(
    data=st.binary(max_size=300) | LINES,
    limit=st.integers(2, 200),
    cuts=st.lists(st.integers(0, 300), max_size=10),
)
def test_where_the_pieces_are_cut_does_not_change_what_is_kept(data: bytes, limit: int, cuts: list[int]) -> None:
    assert kept(data, limit, cuts) == kept(data, limit, [])


@given(data=st.binary(max_size=100), limit=st.integers(200, 300))
def test_what_fits_is_kept_whole(data: bytes, limit: int) -> None:
    lines = data.count(b"\n") + (data[-1:] not in (b"", b"\n"))

    assert kept(data, limit, []) == Output(clean(data), size=len(data), lines=lines)


@given(data=LINES, limit=st.integers(2, 60))
def test_head_and_tail_are_ends_of_the_text_and_the_gap_is_counted(data: bytes, limit: int) -> None:
    output = kept(data, limit, [])
    head, tail = output.head.encode(), output.tail.encode()

    assert data.startswith(head)
    assert data.endswith(tail)
    assert len(head) + len(tail) + output.bytes_left_out == len(data) == output.size
    assert (head + tail).count(b"\n") + output.lines_left_out == data.count(b"\n") == output.lines
    assert len(head) + len(tail) <= max(limit, 2)


def test_a_cut_far_from_any_newline_splits_no_character() -> None:
    data = "😀€é".encode() * 5000

    output = kept(data, 1003, [])

    assert set(output.head + output.tail) == set("😀€é")


def test_a_cut_near_a_newline_leaves_whole_lines() -> None:
    data = b"".join(b"line %d\n" % number for number in range(1000))

    output = kept(data, 1000, [])

    assert output.head.endswith("\n")
    assert output.tail.startswith("line ")


def test_the_store_holds_little_more_than_its_limit() -> None:
    store = Kept(1000)
    for _ in range(1000):
        store.feed(b"x" * 65536)

    output = store.output()

    assert output == Output("x" * 500, "x" * 500, 65_536_000, 1, 65_535_000, 0)
