"""Content encodings."""

import gzip
import zlib

import pytest

from smith_server.llm.decoding import Damaged, inflater

TEXT = b"data: " + bytes(range(256)) * 40


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


BODIES = {
    "plain": ("", TEXT),
    "identity": ("Identity", TEXT),
    "gzip": ("gzip", gzip.compress(TEXT)),
    "x-gzip": (" X-GZIP ", gzip.compress(TEXT)),
    "two gzip members": ("gzip", gzip.compress(TEXT[:900]) + gzip.compress(TEXT[900:])),
    "gzip with padding": ("gzip", gzip.compress(TEXT) + bytes(64)),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "raw deflate": ("deflate", raw_deflate(TEXT)),
}


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize(("encoding", "body"), BODIES.values(), ids=BODIES)
def test_a_body_is_decoded_however_it_is_cut(encoding: str, body: bytes, size: int) -> None:
    decode = inflater(encoding)
    assert b"".join(decode(body[at : at + size]) for at in range(0, len(body), size)) == TEXT


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_an_encoding_nobody_asked_for_is_damaged(encoding: str) -> None:
    with pytest.raises(Damaged, match=encoding):
        inflater(encoding)(b"x")


def test_what_came_before_the_damage_is_given() -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    start = packer.compress(TEXT) + packer.flush(zlib.Z_SYNC_FLUSH)
    decode = inflater("gzip")
    assert decode(start) == TEXT
    with pytest.raises(Damaged):
        decode(b"\xff" * 20)
