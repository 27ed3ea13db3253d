"""The size check sees what it should see."""

import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest

TOOL: dict[str, Any] = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "sizes.py"))
measure, problems, leftovers, broad_catches = (
    TOOL[name] for name in ("measure", "problems", "leftovers", "broad_catches")
)
DOC = '"""A file."""\n'


def found(path: str, text: str) -> list[str]:
    return list(problems(measure(path, text)))


def body(lines: int) -> str:
    return "def f():\n" + "    a = 1\n" * (lines - 1)


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("a.py", DOC + "x = 1\n" * 399, []),
        ("a.py", DOC + "x = 1\n" * 400, ["a.py: 401 lines, at most 400"]),
        ("a.lua", "x = 1\n" * 301, ["a.lua: 301 lines, at most 300"]),
        ("a.el", "(x)\n" * 401, ["a.el: 401 lines, at most 400"]),
        ("a.py", DOC + body(50), []),
        ("a.py", DOC + body(51), ["a.py:2 f: 51 lines, at most 50"]),
        ("a.lua", "local function f(a)\n" + "  a = 1\n" * 39 + "end\n", ["a.lua:1 f: 41 lines, at most 40"]),
        ("a.el", "(defun f ()\n" + "  (a)\n" * 40 + ")\n", ["a.el:1 f: 42 lines, at most 40"]),
        ("a.py", DOC + "def f(a, b, c, *, d, e): ...\n", []),
        ("a.py", DOC + "def f(a, b, c, *, d, e, g): ...\n", ["a.py:2 f: 6 parameters, at most 5"]),
        ("a.py", DOC + "class C:\n    def f(self, a, b, c, d, e): ...\n", []),
        ("a.py", "x = 1\n", ["a.py: no module docstring"]),
        ("a.py", "", []),
        ("utils.py", DOC, ["utils.py: the name says nothing about what is in it"]),
    ],
    ids=[
        "file at the limit",
        "file over it",
        "lua file over it",
        "lisp file over it",
        "function at the limit",
        "function over it",
        "lua function over it",
        "lisp function over it",
        "five parameters",
        "six parameters",
        "self is not counted",
        "no docstring",
        "an empty file needs none",
        "a vague name",
    ],
)
def test_a_limit_is_told_only_when_it_is_passed(path: str, text: str, told: list[str]) -> None:
    assert found(path, text) == told


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("a = 1", 0),
        ("if a:\n  for b in c:\n    while d:\n      e()", 3),
        ("if a:\n  b()\nelif c:\n  d()\nelif e:\n  f()\nelse:\n  g()", 1),
        ("if a:\n  b()\nelse:\n  if c:\n    d()", 2),
        ("with a:\n  with b:\n    try:\n      c()\n    except D:\n      e()", 1),
        ("match a:\n  case 1:\n    if b:\n      c()", 2),
        ("if a:\n  def inner():\n    for b in c:\n      d()", 1),
    ],
    ids=["flat", "three", "elif is one level", "else with an if is two", "with is none", "match", "inner function"],
)
def test_nesting_counts_branches_loops_and_try(text: str, depth: int) -> None:
    measured = measure("a.py", "def f():\n" + textwrap.indent(text, "    "))

    assert measured.functions[0].depth == depth


def test_a_function_nested_too_deep_is_told() -> None:
    text = DOC + "def f():\n  if a:\n    if b:\n      if c:\n        if d: e()\n"

    assert found("a.py", text) == ["a.py:2 f: 4 levels deep, at most 3"]


def test_prose_and_code_are_told_apart() -> None:
    text = '"""Two\nlines."""\n\n# one\nx = 1  # no line of its own\n"""About x."""\ny = """text\nof the program"""\n'
    measured = measure("a.py", text)

    assert (measured.prose, measured.code) == (4, 3)


def test_suppressions_are_counted_and_words_about_them_are_not() -> None:
    text = 'a = 1  # noqa: E501\nb = 2  # type: ignore[misc]\nc = "# noqa"  # see noqa\n'

    assert measure("a.py", text).suppressions == 2


@pytest.mark.parametrize(
    ("handler", "count"),
    [
        ("except Exception:\n  pass", 1),
        ("except:\n  pass", 1),
        ("except (OSError, BaseException) as e:\n  log(e)", 1),
        ("except BaseException:\n  undo()\n  raise", 0),
        ("except OSError:\n  pass", 0),
    ],
    ids=["Exception", "bare", "in a tuple", "raised again", "a named error"],
)
def test_a_broad_catch_is_one_that_swallows_everything(handler: str, count: int) -> None:
    assert measure("a.py", f"try:\n  x()\n{handler}\n").broad == count


def test_broad_catches_are_allowed_in_their_places_only() -> None:
    caught = "try:\n  x()\nexcept Exception:\n  pass\n"
    allowed = measure("smith_server/core/execute.py", caught)
    stray = measure("smith_server/config/layers.py", caught)

    assert list(broad_catches([allowed])) == []
    assert list(broad_catches([allowed, stray])) == [
        "smith_server/config: 1 broad catches, at most 0: smith_server/config/layers.py"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1  # TO" + "DO later", ["a.py:1: TO" + "DO"]),
        ("todo = Todos()", []),
        ('open("/ro' + 'ot/x")', ["a.py:1: a path of one machine, /ro" + "ot/"]),
        ("https://example.org/work/item", []),
        ('f"{folder}/work/app"', []),
    ],
    ids=["work not done", "a word", "a path", "an address", "a path below another"],
)
def test_leftovers_are_found_in_any_text(text: str, told: list[str]) -> None:
    assert list(leftovers("a.py", text)) == told
