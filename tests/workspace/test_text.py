import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.workspace.text import (
    Decoded,
    content_of,
    decode,
    end_of,
    is_unicode,
    line_count,
    line_ends,
    lines_of,
    text_hash,
)
from tests.workspace import odd

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "vectors" / "hash.jsonl").read_text(encoding="ascii").splitlines()
]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_the_hash_of_a_file_is_the_hash_of_its_text(vector):
    text = vector["bytes_latin1"] * vector.get("repeat", 1) + vector.get("then_latin1", "")
    assert text_hash(decode(text.encode("latin-1")).text) == vector["hash"]


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        (b"a\xc3\xa9", Decoded("aé", "utf-8", b"")),
        (b"\xef\xbb\xbfa", Decoded("a", "utf-8", b"\xef\xbb\xbf")),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", Decoded("\ufeffa", "utf-8", b"\xef\xbb\xbf")),
        (b"caf\xe9", Decoded("café", "latin-1", b"")),
        (b"\xef\xbb\xbf\xff", Decoded("ï»¿ÿ", "latin-1", b"\xef\xbb\xbf")),
        (b"\xff\xfea\0", Decoded("a", "utf-16-le", b"\xff\xfe")),
        (b"\xff\xfea", Decoded("ÿþa", "latin-1", b"\xff\xfe")),
        (b"\xff\xfe\0\0a\0\0\0", Decoded("a", "utf-32-le", b"\xff\xfe\0\0")),
        (b"\0\0\xfe\xff\0\0\0a", Decoded("a", "utf-32-be", b"\0\0\xfe\xff")),
        (b"\xed\xa0\x80", Decoded("í\xa0\x80", "latin-1", b"")),
    ],
    ids=[
        "utf8",
        "mark",
        "two-marks",
        "latin1",
        "broken-utf8-mark",
        "utf16",
        "broken-utf16",
        "utf32",
        "utf32be",
        "cesu",
    ],
)
def test_bytes_become_text_by_mark_then_utf8_then_latin1(data, decoded):
    assert decode(data) == decoded


@pytest.mark.parametrize(
    ("data", "wide"), [(b"\xff\xfea\0", True), (b"\xff\xfea", True), (b"\xef\xbb\xbfa", False), (b"a", False)]
)
def test_a_mark_of_utf16_counts_even_when_what_follows_is_broken(data, wide):
    assert decode(data).wide is wide


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("", "none"),
        ("a", "none"),
        ("a\nb", "lf"),
        ("a\r\n", "crlf"),
        ("a\r\nb\n", "mixed"),
        ("a\rb", "cr"),
        ("\r\n", "crlf"),
    ],
)
def test_line_ends_are_named(text, ends):
    assert line_ends(text) == ends


@given(odd.texts)
def test_lines_put_together_are_the_text_and_only_lf_ends_them(text):
    lines = lines_of(text)
    assert "".join(lines) == text
    assert all(line and "\n" not in line[:-1] for line in lines)
    assert all(line.endswith("\n") for line in lines[:-1])
    assert len(lines) == line_count(text)
    assert [content_of(line) + end_of(line) for line in lines] == lines


@given(st.binary(max_size=40))
def test_any_bytes_can_be_decoded_and_hashed(data):
    decoded = decode(data)
    assert len(text_hash(decoded.text)) == 16
    if decoded.encoding == "utf-8":
        assert decoded.bom + decoded.text.encode() == data


@given(st.text(st.characters()))
def test_surrogates_are_found_and_do_not_stop_the_hash(text):
    assert is_unicode(text) == (not any("\ud800" <= char <= "\udfff" for char in text))
    assert len(text_hash(text)) == 16
