import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.workspace.gitconfig import values


def url(text: str) -> list[str]:
    return values(text, "remote", "origin", "url")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[remote "origin"]\n\turl = https://a/b\n', ["https://a/b"]),
        ('[remote "origin"]\r\n\turl = https://a/b\r\n', ["https://a/b"]),
        ('\ufeff[remote "origin"]\nurl=x', ["x"]),
        ('[remote "origin"] url = x', ["x"]),
        ('[REMOTE "origin"]\nURL = x', ["x"]),
        ("[remote.ORIGIN]\nurl = x", ["x"]),
        ('[remote "ORIGIN"]\nurl = x', []),
        ('[remote "other"]\nurl = y\n[remote "origin"]\nurl = x\n[branch "main"]\nurl = z', ["x"]),
        ('[remote "origin"]\nurl = x\n[core]\n[remote "origin"]\nurl = y', ["x", "y"]),
        ('[remote "origin"]\nurl = x ; said\n# url = y\n; url = z', ["x"]),
        ('[remote "origin"]\nurl = "x # ; y" # said', ["x # ; y"]),
        ('[remote "origin"]\nurl = " x " \t', [" x "]),
        ('[remote "origin"]\nurl = a b\t ', ["a b"]),
        ('[remote "origin"]\nurl = a\\\n  \nfetch = f', ["a"]),
        ('[remote "origin"]\nurl = ab\\\ncd', ["abcd"]),
        ('[remote "origin"]\nurl = \\\n  \nfetch = f', [""]),
        ('[remote "origin"]\nurl = a\\\\b\\"c\\td', ['a\\b"c\td']),
        ('[remote "origin"]\nurl', ["true"]),
        ('[remote "origin"]\nurl =', [""]),
        ('[remote "origin"]\nurl x\nurl = y', ["y"]),
        ('[remote "or\\"ig\\\\in"]\nurl = x', []),
        ('[remote "origin\nurl = x', []),
        ("url = x", []),
        ("", []),
    ],
    ids=[
        "as git writes it",
        "line ends of another system",
        "byte order mark",
        "one line",
        "names have no case",
        "old form",
        "the remote has case",
        "among others",
        "in two places",
        "comments",
        "quoted comment signs",
        "quoted blanks",
        "blanks inside",
        "blanks after a continued line",
        "continued line",
        "continued by blanks",
        "escapes",
        "bare name",
        "empty",
        "no sign between",
        "another remote",
        "header cut",
        "no header",
        "nothing",
    ],
)
def test_the_file_is_read_as_git_reads_it(text: str, found: list[str]) -> None:
    assert url(text) == found


def test_a_quoted_name_of_a_remote_is_unescaped() -> None:
    assert values('[remote "or\\"ig\\\\in"]\nurl = x', "remote", 'or"ig\\in', "url") == ["x"]


def test_a_hostile_file_costs_no_more_than_its_length() -> None:
    for text in ("\\" * 500_001, '"' * 500_000, "[" * 500_000, "a" * 500_000, "# " * 250_000, "a=" * 250_000):
        assert url('[remote "origin"]\nurl = x\n' + text)[0] == "x"


plain = st.text(st.sampled_from('abc/:@.#;"\\ \t-'), max_size=12)


@settings(max_examples=25, deadline=None)
@given(st.lists(plain, min_size=1, max_size=3))
def test_what_git_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, written: list[str]) -> None:
    file = tmp_path_factory.mktemp("config") / "config"
    for each in written:
        subprocess.run(["git", "config", "--file", file, "--add", "remote.origin.url", each], check=True)
    assert url(Path(file).read_text()) == written


@given(st.text(st.sampled_from('[]"\\=\n\r#; \tremote.originurlx'), max_size=60))
def test_any_text_is_read_without_complaint(text: str) -> None:
    assert all(isinstance(each, str) for each in url(text))
