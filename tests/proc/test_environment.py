from pathlib import Path

import pytest

from smith_server.proc.environment import environment

CWD = Path("/somewhere")


def child(ours: dict[str, str], *hidden: str) -> dict[str, str]:
    return environment(ours, hidden, CWD, "m.1.")


def test_a_child_gets_ours_with_nobody_to_ask() -> None:
    ours = {"HOME": "/h", "TERM": "xterm", "PAGER": "less", "SSH_ASKPASS": "/bin/ask", "COLUMNS": "80", "PWD": "/old"}

    assert child(ours) == {
        "HOME": "/h",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "DEBIAN_FRONTEND": "noninteractive",
        "PWD": "/somewhere",
        "SMITH_CALL": "m.1.",
    }


@pytest.mark.parametrize(
    ("other", "is_there"),
    [("sk-secret-1", False), ("Bearer sk-secret-1", False), ("sk-other-22", True)],
    ids=["the same value", "the value inside another", "another value"],
)
def test_the_value_of_a_key_is_in_no_variable(other: str, is_there: bool) -> None:
    seen = child({"MY_KEY": "sk-secret-1", "OTHER": other}, "MY_KEY", "UNSET_KEY")

    assert "MY_KEY" not in seen
    assert ("OTHER" in seen) is is_there


def test_a_very_short_key_takes_only_equal_values_with_it() -> None:
    seen = child({"MY_KEY": "1", "SAME": "1", "LEVEL": "12"}, "MY_KEY")

    assert {"SAME", "MY_KEY"} & seen.keys() == set()
    assert seen["LEVEL"] == "12"


def test_who_started_us_finds_our_children_too() -> None:
    assert child({"SMITH_CALL": "outer.1."})["SMITH_CALL"] == "outer.1. m.1."
