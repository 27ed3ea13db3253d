import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.codebase.glob import is_glob, path_pattern

PATHS = ("a.py", "b.js", "src/a.py", "src/deep/x.ts", "src/deep/x.tsx", "tests/[id].js", "{a}.txt")


@pytest.mark.parametrize(
    ("glob", "fitting"),
    [
        ("*.py", {"a.py", "src/a.py"}),
        ("/*.py", {"a.py"}),
        ("src/*.py", {"src/a.py"}),
        ("src/*", {"src/a.py"}),
        ("src/", {"src/a.py", "src/deep/x.ts", "src/deep/x.tsx"}),
        ("src/**", {"src/a.py", "src/deep/x.ts", "src/deep/x.tsx"}),
        ("**/x.ts", {"src/deep/x.ts"}),
        ("src/**/x.*", {"src/deep/x.ts", "src/deep/x.tsx"}),
        ("*.{ts,tsx}", {"src/deep/x.ts", "src/deep/x.tsx"}),
        ("{src,tests}/*", {"src/a.py", "tests/[id].js"}),
        ("?.[jp]?", {"a.py", "b.js", "src/a.py"}),
        ("[!a].js", {"b.js"}),
        ("\\[id\\].js", {"tests/[id].js"}),
        ("{a}.txt", {"a.txt"} & set(PATHS)),
        ("\\{a\\}.txt", {"{a}.txt"}),
        ("[", set()),
        ("{a", set()),
        ("./a.py", {"a.py", "src/a.py"}),
    ],
)
def test_a_glob_fits_whole_paths(glob, fitting):
    pattern = re.compile(path_pattern(glob), re.DOTALL)
    assert {path for path in PATHS if pattern.fullmatch(path)} == fitting


@given(st.text(alphabet="ab*?[]{},!^-\\/.é\n", max_size=20))
def test_no_glob_is_a_bad_expression(glob):
    re.compile(path_pattern(glob), re.DOTALL)


def test_a_query_with_one_of_four_characters_is_a_glob():
    assert [is_glob(query) for query in ("a*", "a?", "[a", "{a", "a.py", "a]")] == [True] * 4 + [False] * 2
