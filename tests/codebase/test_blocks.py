from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from smith_server.codebase.blocks import KEPT_HEAD, KEPT_WHOLE, Block, Blocks, Hit

OUTPUT = b"./a.py\x001:1:one\n7:3:  two\n\n./d\n\ne\x003:2:x\r\n\n./gone: binary file matches (found)\n"


def found(pieces, path=""):
    blocks = Blocks(path)
    for piece in pieces:
        assert blocks.take(piece)
    return blocks.finish()


def test_each_file_has_its_lines():
    blocks = found([OUTPUT])
    assert [(block.path, block.count) for block in blocks.values()] == [("a.py", 2), ("d\n\ne", 1)]
    assert list(blocks["a.py"].hits()) == [Hit(1, 0, b"one"), Hit(7, 2, b"  two")]
    assert list(blocks["d\n\ne"].hits()) == [Hit(3, 1, b"x\r")]


@given(st.lists(st.integers(0, len(OUTPUT)), max_size=6))
def test_where_the_output_is_cut_changes_nothing(cuts):
    edges = [0, *sorted(cuts), len(OUTPUT)]
    pieces = [OUTPUT[start:end] for start, end in pairwise(edges)]
    assert found(pieces) == found([OUTPUT])


def test_lines_without_a_path_belong_to_the_file_that_was_named():
    assert found([b"4:1:a\n", b"5:1:b\n"], "x.py") == {"x.py": Block("x.py", 2, b"4:1:a\n5:1:b")}
    assert found([b""], "x.py") == {"x.py": Block("x.py", 0, b"")}


def test_a_file_with_very_many_matches_costs_bounded_memory_and_is_still_counted():
    line = b"9:1:" + b"x" * 8000 + b"\n"
    count = 2 * KEPT_WHOLE // len(line)
    pieces = (line * 30 for _ in range(count // 30))
    blocks = found([b"./many\x00", *pieces, b"\n./few\x001:1:y\n"])
    assert blocks["many"].count == count // 30 * 30
    assert len(blocks["many"].head) == KEPT_HEAD
    assert blocks["few"] == Block("few", 1, b"1:1:y")
