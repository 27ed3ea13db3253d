import subprocess

import pytest
from hypothesis import given, settings

from smith_server.workspace.diff import Counts, counts, unified
from smith_server.workspace.hunks import hunks_between
from tests.workspace import odd


def diff(old, new, **more):
    return unified("a.py", old, new, hunks_between(old, new), **more)


@pytest.mark.parametrize(
    ("old", "new", "body"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        ("a\n", "a\nb\n", "@@ -1 +1,2 @@\n a\n+b\n"),
        ("a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"),
        ("", "x\n", "@@ -0,0 +1 @@\n+x\n"),
        ("x\n", "", "@@ -1 +0,0 @@\n-x\n"),
        (
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
            "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n",
            "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+twelve\n",
        ),
    ],
    ids=["change", "append", "no-end", "from-empty", "to-empty", "two-parts"],
)
def test_a_diff_shows_what_changes_and_what_is_around(old, new, body):
    assert diff(old, new) == "--- a/a.py\n+++ b/a.py\n" + body


def test_no_change_is_no_diff():
    assert diff("a\n", "a\n") == ""


def test_a_new_file_has_nothing_before_it():
    assert diff("", "x\n", created=True).startswith("--- /dev/null\n+++ b/a.py\n")


def test_a_long_diff_says_how_much_was_left_out():
    shown = diff("", "x\n" * 1000)
    assert len(shown.splitlines()) == 203
    assert shown.endswith("[… 801 more lines of this diff left out]\n")
    assert len(diff("", "x" * 100_000)) < 1000


def test_lines_that_come_and_go_are_counted():
    old, new = "a\nb\nc\n", "a\nx\ny\nc\n"
    assert counts(old, hunks_between(old, new)) == Counts(added=2, removed=1)


@settings(max_examples=25, deadline=None)
@given(odd.line_texts, odd.line_texts)
def test_the_diff_can_be_applied_by_git(tmp_path_factory, old, new):
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old == new or not old or not new:
        return
    folder = tmp_path_factory.mktemp("diff")
    (folder / "a.py").write_bytes(old.encode())
    subprocess.run(
        ["git", "apply", "-"],
        input=diff(old, new).encode(),
        cwd=folder,
        check=True,
        env={
            "HOME": str(folder),
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
        },
    )
    assert (folder / "a.py").read_bytes() == new.encode()
