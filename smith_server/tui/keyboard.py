"""The keys of the terminal: late answers of it to our questions are none of them."""

from typing import TextIO

from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress

from smith_server.tui.kitty import without_answers


class Keyboard(Vt100Input):
    """Reads keys out of a terminal."""

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)

    def read_keys(self) -> list[KeyPress]:
        """What was pressed since the last time."""
        typed = self.stdin_reader.read()
        self.vt100_parser.feed(_without_answers(typed) if "\x1b" in typed else typed)
        pressed, self._buffer = self._buffer, []
        return pressed

    def put_back(self, data: bytes) -> None:
        """Keys that were read by somebody else come first."""
        pressed: list[KeyPress] = []
        parser = Vt100Parser(pressed.append)
        parser.feed(data.decode("utf-8", "surrogateescape"))
        parser.flush()
        store_typeahead(self, pressed)


def _without_answers(text: str) -> str:
    return without_answers(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
