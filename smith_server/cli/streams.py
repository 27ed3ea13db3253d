"""The standard streams of a command: always there, free of control characters, quiet when nobody reads."""

import os
import sys
from collections.abc import Callable
from typing import NoReturn, TextIO

from smith_server.core.printable import printable

FAILED, OVERSPENT, REFUSED, EXHAUSTED, INTERRUPTED = 1, 2, 3, 4, 130
SIGNALLED = 128
"""Exit codes; a signal adds its number to the last."""


def ready() -> None:
    """Have all three streams, so that no file that is opened later becomes one, and let them take any text."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
        getattr(sys, name).reconfigure(errors="replace")


def take_stdout() -> TextIO:
    """Standard output for the answer alone: what a library prints from now on goes to standard error."""
    own = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    os.dup2(2, 1)
    return own


def finish() -> None:
    """Write what waits; a stream that nobody reads is no error at this point."""
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)


def leave(code: int) -> NoReturn:
    """End the process at once: nothing but streams is left to be put away."""
    finish()
    os._exit(code)


class Output:
    """What a command says: the answer on `stream`, everything else as lines on standard error.

    When `stream` cannot be written any more, `on_broken` is told once, and nothing more is said on it.
    `before` is called before anything is written.
    """

    def __init__(self, stream: TextIO, on_broken: Callable[[OSError], None]) -> None:
        self._stream = stream
        self._on_broken = on_broken
        self._is_broken = False
        self._in_line = False
        self.before: Callable[[], None] = lambda: None

    def answer(self, text: str) -> None:
        """More of the answer."""
        self.write(printable(text))
        self._in_line = not text.endswith("\n") if text else self._in_line

    def end_line(self) -> None:
        """Begin a new line, if the answer is in the middle of one."""
        if self._in_line:
            self._in_line = False
            self.write("\n")

    def write(self, text: str) -> None:
        """`text` as it is, at once."""
        if self._is_broken:
            return
        self.before()
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError as problem:
            self._is_broken = True
            _silence(self._stream)
            self._on_broken(problem)

    def note(self, text: str, end: str = "\n") -> None:
        """A line on standard error, on a line of its own."""
        self.end_line()
        self.before()
        try:
            sys.stderr.write(f"{printable(text)}{end}")
            sys.stderr.flush()
        except OSError:
            _silence(sys.stderr)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        _silence(stream)


def _silence(stream: TextIO) -> None:
    """Send what is still written to `stream` nowhere, or the interpreter complains of it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
