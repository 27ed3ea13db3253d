"""Texts of the kinds that editors and tools get wrong."""

from hypothesis import strategies as st

PIECES = [
    "a",
    "b",
    "  x",
    "\n",
    "\n",
    "\r\n",
    "\r\n",
    "\r",
    "\x0c",
    "\u2028",
    "\x85",
    "é",
    "e\u0301",
    "😀",
    "\ufeff",
    "\x1a",
]

pieces = st.sampled_from(PIECES)
texts = st.lists(pieces, max_size=30).map("".join)
line_texts = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d\n", "e\r\n"]), max_size=25).map("".join)
contents = st.lists(st.sampled_from(["a", "b", "x", "\n", "é", "😀", "\u2028", "\r\n", "\t"]), max_size=12).map("".join)
