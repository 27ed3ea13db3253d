import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.editor import Hunk
from smith_server.core.errors import ToolRefusal
from smith_server.workspace.edits import Edited, ExactEdit, LineEdit, Rewrite, apply
from smith_server.workspace.hunks import apply_hunks
from smith_server.workspace.text import end_of, line_count, lines_of, with_line_feeds
from tests.workspace import odd


def code(edit, text, **more):
    with pytest.raises(ToolRefusal) as caught:
        apply(edit, text, **more)
    return caught.value.error.code


def message(edit, text):
    with pytest.raises(ToolRefusal) as caught:
        apply(edit, text)
    return caught.value.error.message


@st.composite
def line_edits(draw, text):
    count = line_count(text)
    operation = draw(st.sampled_from(["replace", "insert", "delete"] if count else ["insert"]))
    if operation == "insert":
        return LineEdit("insert", draw(st.integers(1, count + 1)), 0, draw(odd.contents.filter(bool)))
    start = draw(st.integers(1, count))
    return LineEdit(operation, start, draw(st.integers(start, count)), draw(odd.contents))


@given(odd.texts, st.data())
def test_lines_outside_the_range_keep_every_character(text, data):
    edit = data.draw(line_edits(text))
    made = apply(edit, text)
    lines = lines_of(text)
    start = edit.start - 1
    end = start if edit.operation == "insert" else edit.end
    head, tail = "".join(lines[:start]), "".join(lines[end:])
    assert apply_hunks(text, made.hunks) == made.text
    assert made.text.endswith(tail)
    assert made.text.startswith(head)
    assert made.line_delta == line_count(made.text) - line_count(text)


def rows(text):
    """The rows that an editor shows of a text whose last line is open, or of one whose last line is ended."""
    return with_line_feeds(text).removesuffix("\n" if text.endswith("\n") else "").split("\n")


@given(odd.line_texts, st.booleans(), st.data())
def test_an_editor_shows_exactly_the_rows_that_were_asked_for(text, is_open, data):
    text = text + "z" * is_open
    edit = data.draw(line_edits(text))
    made = apply(edit, text, keep_final_end=True).text
    content = edit.content if edit.operation != "delete" else ""
    new = rows(content) if content else []
    old = rows(text) if text else []
    start = edit.start - 1
    expected = old[:start] + new + old[_end(edit) :]
    if not expected:
        assert made == ""
    elif is_open:
        assert with_line_feeds(made).split("\n") == expected
    else:
        assert made.endswith("\n")
        assert rows(made) == expected


def ended_like(text, new_text):
    """`new_text`, with one line end at its end more or less where it has one and `text` not, or the reverse."""
    if not text or not new_text or text.endswith("\n") == new_text.endswith("\n"):
        return new_text
    return new_text + "\n" if text.endswith("\n") else new_text.removesuffix("\n")


@given(odd.line_texts, st.booleans(), odd.contents.filter(bool), odd.contents)
def test_an_exact_edit_does_not_change_the_final_line_end_of_an_open_file(text, is_open, old, new):
    text = text + "b" * is_open
    plain, old, new = with_line_feeds(text), with_line_feeds(old), with_line_feeds(new)
    if old in plain:
        made = apply(ExactEdit(old, new, True), text, keep_final_end=True)
        assert with_line_feeds(made.text) == ended_like(text, plain.replace(old, new))


@given(odd.line_texts, st.data())
def test_new_lines_take_their_end_from_the_neighbourhood(text, data):
    edit = data.draw(line_edits(text))
    made = apply(edit, text)
    lines = lines_of(text)
    before = [end_of(line) for line in lines[: edit.start - 1]][-1:]
    own = [end_of(lines[edit.start - 1])] if edit.operation == "replace" else []
    after = [end_of(line) for line in lines[edit.start - 1 :]][:1]
    expected = [*own, *before, *after, "\n"][0]
    new = lines_of(made.text)[edit.start - 1 : line_count(made.text) - (len(lines) - _end(edit))]
    assert {end_of(line) for line in new} <= {expected}


def _end(edit):
    return edit.start - 1 if edit.operation == "insert" else edit.end


@given(odd.texts, odd.contents)
def test_a_rewrite_says_what_it_was_given_and_keeps_the_final_line_end(text, content):
    made = apply(Rewrite(content), text)
    assert apply_hunks(text, made.hunks) == made.text
    assert with_line_feeds(made.text) == ended_like(text, with_line_feeds(content))


def test_a_rewrite_leaves_the_ends_of_lines_that_stay():
    made = apply(Rewrite("a\nB\nc\nd\nnew\n"), "a\r\nb\nc\nd\r\n")
    assert made.text == "a\r\nB\nc\nd\r\nnew\r\n"
    assert made.hunks == (Hunk(3, "b", "B"), Hunk(10, "", "new\r\n"))


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ("a\nb", "a\nc\n", "a\nc"),
        ("a\n", "b", "b\n"),
        ("a\r\n", "b", "b\r\n"),
        ("a\n", "", ""),
        ("", "x", "x"),
        ("", "x\r\n", "x\n"),
    ],
    ids=["no-end", "end", "crlf", "emptied", "from-empty", "from-empty-crlf"],
)
def test_a_rewrite_keeps_the_final_line_end_or_its_lack(text, content, expected):
    assert apply(Rewrite(content), text).text == expected


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ("one two three\n", ExactEdit("two", "2"), Edited("one 2 three\n", (Hunk(4, "two", "2"),), 1, 1, 0)),
        (
            "a\r\nb\r\nc\r\n",
            ExactEdit("a\nb", "a\nx\nb"),
            Edited("a\r\nx\r\nb\r\nc\r\n", (Hunk(3, "", "x\r\n"),), 2, 2, 1),
        ),
        ("a\nb\n", ExactEdit("b\n", ""), Edited("a\n", (Hunk(2, "b\n", ""),), 2, 1, -1)),
        ("a\nb\nc\n", ExactEdit("b\n", "x"), Edited("a\nxc\n", (Hunk(2, "b\n", "x"),), 2, 2, -1)),
        (
            "x x\ny\nx\n",
            ExactEdit("x", "z", True),
            Edited("z z\ny\nz\n", (Hunk(0, "x x", "z z"), Hunk(6, "x", "z")), 1, 3, 0),
        ),
        ("a\r\r\nb\r\n", ExactEdit("a\r\nb", "c"), Edited("c\r\n", (Hunk(0, "a\r\r\nb", "c"),), 1, 1, -1)),
        ("a\n", ExactEdit("a", "a"), Edited("a\n", (), 1, 0, 0)),
        ("aaaa\n", ExactEdit("aa", "b", True), Edited("bb\n", (Hunk(0, "aaaa", "bb"),), 1, 1, 0)),
    ],
    ids=["word", "crlf", "line", "joins-lines", "all", "cr-is-text", "no-change", "side-by-side"],
)
def test_exact_text_is_replaced(text, edit, expected):
    assert apply(edit, text) == expected


@given(odd.texts, odd.contents.filter(bool), odd.contents)
def test_all_places_are_replaced_and_nothing_else(text, old, new):
    plain, old = with_line_feeds(text), with_line_feeds(old)
    if old not in plain or "\r" in plain:
        return
    made = apply(ExactEdit(old, new, True), text)
    assert with_line_feeds(made.text) == plain.replace(old, with_line_feeds(new))
    assert apply_hunks(text, made.hunks) == made.text


@pytest.mark.parametrize(
    ("edit", "text", "expected"),
    [
        (LineEdit("replace", 0, 1, "x"), "a\n", "invalid_range"),
        (LineEdit("replace", 2, 1, "x"), "a\n", "invalid_range"),
        (LineEdit("insert", 0, 0, "x"), "a\n", "invalid_range"),
        (LineEdit("replace", 1, 2, "x"), "a\n", "range_out_of_bounds"),
        (LineEdit("delete", 1, 1), "", "range_out_of_bounds"),
        (LineEdit("insert", 3, 0, "x"), "a\n", "range_out_of_bounds"),
        (LineEdit("insert", 1, 0, ""), "a\n", "empty_insert"),
        (LineEdit("replace", 1, 1, "\0"), "a\n", "invalid_text"),
        (LineEdit("replace", 9, 9, "\0"), "a\n", "range_out_of_bounds"),
        (Rewrite("\ud83d"), "a\n", "invalid_text"),
        (ExactEdit("", "x"), "a\n", "empty_old"),
        (ExactEdit("a", "\0"), "a\n", "invalid_text"),
        (ExactEdit("q", "x"), "a\n", "no_match"),
        (ExactEdit("a", "x"), "a a\n", "several_matches"),
    ],
)
def test_what_cannot_be_done_is_named(edit, text, expected):
    assert code(edit, text) == expected


@pytest.mark.parametrize(
    ("text", "edit", "expected"),
    [
        ("a\n", LineEdit("replace", 1, 1, "\ufeffx"), "x\n"),
        ("a\n", LineEdit("insert", 1, 1, "\ufeff"), "\na\n"),
        ("a\n", Rewrite("\ufeffa\n"), "a\n"),
        ("\ufeffa\n", Rewrite("\ufeffb\n"), "\ufeffb\n"),
        ("a\nb\n", LineEdit("replace", 2, 2, "\ufeffx"), "a\n\ufeffx\n"),
        ("a\n\ufeffb\n", LineEdit("delete", 1, 1), "\ufeffb\n"),
    ],
)
def test_a_mark_of_the_encoding_never_comes_in_with_the_text(text, edit, expected):
    made = apply(edit, text)
    assert (made.text, apply_hunks(text, made.hunks)) == (expected, expected)


def test_several_matches_are_counted_and_placed():
    said = message(ExactEdit("a", "x"), "a\nb\na a\n")
    assert said.startswith("`old` stands in the file 3 times (lines 1, 3, 3).")


@pytest.mark.parametrize(
    ("text", "old", "expected"),
    [
        (
            "def f():\n\treturn 1\n",
            "def f():\n    return 1\n",
            "Nearest lines:\n1\tdef f():\n2\t\treturn 1\nline 2 only white space differs: "
            "yours '    return 1', file '\\treturn 1'",
        ),
        (
            "x\nFoo bar\n",
            "foo bar",
            "Nearest lines:\n2\tFoo bar\nline 2 only letter case differs: yours 'foo bar', file 'Foo bar'",
        ),
        ("a = compute(1)\n", "a = compute(2)", "line 1 differs: yours 'a = compute(2)', file 'a = compute(1)'"),
        ("a\nb\n", "b\nc\n", "`old` has 2 lines, the file ends after 1 of them."),
        ("a\nb\n", "1\ta\n2\tb\n", "it seems to hold the line numbers of `read`"),
        ("a\n", "something else entirely", "no line of it is like it"),
        ("", "a", "no line of it is like it"),
        ("a\n", " \n ", "no line of it is like it"),
    ],
    ids=["tabs", "case", "other", "past-the-end", "numbers", "nothing", "empty", "blank"],
)
def test_a_miss_shows_what_is_nearest_and_what_differs(text, old, expected):
    assert expected in message(ExactEdit(old, "x"), text)


def test_a_rewrite_of_a_large_text_touches_only_what_changed():
    text = "".join(f"line {number}\n" for number in range(100_000))
    wanted = text.replace("line 500\n", "line five hundred\n").replace("line 99000\n", "")
    assert [(hunk.old, hunk.new) for hunk in apply(Rewrite(wanted), text).hunks] == [
        ("500", "five hundred"),
        ("line 99000\n", ""),
    ]
