"""`smith chat`: a conversation, drawn on a terminal or in plain lines."""

import argparse
import asyncio
import sys
from typing import TextIO

from smith_server.cli.log import start_log
from smith_server.cli.streams import leave
from smith_server.cli.terminal import undrawable


def chat(words: argparse.Namespace, answers: TextIO) -> int:
    """Talk until the end of input; the exit code."""
    start_log()
    problem = undrawable(answers)
    if problem and words.face == "tui":
        sys.stderr.write(f"smith: {problem}, so this is the session in plain lines.\n")
    if problem or words.face == "lines":
        from smith_server.cli.lines import Lines

        leave(asyncio.run(Lines(words, answers).code()))
    from smith_server.cli.drawn import drawn

    leave(asyncio.run(drawn(words, answers)))
