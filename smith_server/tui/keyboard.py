"""The keys of the terminal: late answers of it to our questions are none of them."""

from collections.abc import Iterator
from itertools import groupby
from typing import TextIO

from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from smith_server.tui.kitty import without_answers

_BURST = 64
"""More characters than anybody types or holds down between two looks at the keyboard."""


class Keyboard(Vt100Input):
    """Reads keys out of a terminal."""

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)

    def read_keys(self) -> list[KeyPress]:
        """What was pressed since the last time."""
        typed = self.stdin_reader.read()
        self.vt100_parser.feed(_without_answers(typed) if "\x1b" in typed else typed)
        pressed, self._buffer = self._buffer, []
        return list(_joined(pressed)) if len(pressed) > _BURST else pressed

    def put_back(self, data: bytes) -> None:
        """Keys that were read by somebody else come first."""
        pressed: list[KeyPress] = []
        parser = Vt100Parser(pressed.append)
        parser.feed(data.decode("utf-8", "surrogateescape"))
        parser.flush()
        store_typeahead(self, pressed)


def _joined(pressed: list[KeyPress]) -> Iterator[KeyPress]:
    """Long runs of characters as pieces of text: the toolkit takes its time with each key.

    The first of a run stays a key, as it may belong to an Escape before it.
    """
    for is_text, run in groupby(pressed, lambda press: press.key == press.data):
        first, *rest = run
        yield first
        if is_text and len(rest) > _BURST:
            yield KeyPress(Keys.BracketedPaste, "".join(press.data for press in rest))
        else:
            yield from rest


def _without_answers(text: str) -> str:
    return without_answers(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
