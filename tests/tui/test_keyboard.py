"""What the keyboard makes of bytes that come all at once."""

import os
import pty
import tty
from collections.abc import Iterator

import pytest
from prompt_toolkit.keys import Keys

from smith_server.tui.keyboard import Keyboard

LONG = "word " * 20


class Typing:
    """A keyboard and who types on it."""

    def __init__(self) -> None:
        self._far, near = pty.openpty()
        tty.setraw(near)
        self._stdin = os.fdopen(near, "r")
        self._keyboard = Keyboard(self._stdin)

    def pressed(self, text: str) -> list[tuple[str, str]]:
        os.write(self._far, text.encode())
        return [(str(getattr(each.key, "value", each.key)), each.data) for each in self._keyboard.read_keys()]

    def close(self) -> None:
        self._stdin.close()
        os.close(self._far)


@pytest.fixture
def typing() -> Iterator[Typing]:
    made = Typing()
    yield made
    made.close()


def test_a_long_text_without_the_marks_of_a_paste_is_one_piece_behind_its_first_key(typing: Typing) -> None:
    paste = Keys.BracketedPaste.value
    assert typing.pressed(LONG) == [("w", "w"), (paste, LONG[1:])]
    assert typing.pressed(f"{LONG}\r{LONG}") == [
        ("w", "w"),
        (paste, LONG[1:]),
        ("c-m", "\r"),
        ("w", "w"),
        (paste, LONG[1:]),
    ]


def test_an_escape_before_it_keeps_its_key(typing: Typing) -> None:
    keys = typing.pressed(f"\x1bh{LONG}")
    assert keys[:2] == [("escape", "\x1b"), ("h", "h")]
    assert keys[2:] == [(Keys.BracketedPaste.value, LONG)]


def test_what_a_person_types_stays_keys(typing: Typing) -> None:
    assert typing.pressed("jjjj\t/x") == [*[("j", "j")] * 4, ("c-i", "\t"), ("/", "/"), ("x", "x")]
