import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.lsp.frames import BadFrameError, FrameReader, frame


@given(st.lists(st.binary(max_size=30), max_size=6), st.integers(1, 40))
def test_bodies_come_out_whole_however_the_bytes_are_cut(bodies: list[bytes], size: int) -> None:
    stream = b"".join(map(frame, bodies))
    reader = FrameReader()
    got = [body for at in range(0, len(stream), size) for body in reader.feed(stream[at : at + size])]
    assert got == bodies


def test_header_names_are_taken_in_any_case_and_others_are_passed_over() -> None:
    data = b"content-LENGTH: 2\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n{}"
    assert list(FrameReader().feed(data)) == [b"{}"]


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1000000000000\r\n\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"x" * 9000,
    ],
    ids=["no length", "a word", "negative", "huge", "twice", "no end"],
)
def test_what_is_no_frame_ends_the_stream(data: bytes) -> None:
    with pytest.raises(BadFrameError):
        list(FrameReader().feed(data))
