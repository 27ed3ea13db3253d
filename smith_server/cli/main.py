"""The command line: finds the command and imports only what that needs."""

import sys
from collections.abc import Sequence

from smith_server.cli.arguments import parse
from smith_server.cli.streams import INTERRUPTED, finish, ready


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code.

    0 done · 1 failed, or the call was wrong · 3 finished, but calls were refused because nobody could
    be asked · 130 interrupted.
    """
    ready()
    try:
        return _main(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        finish()


def _main(words: Sequence[str]) -> int:
    options = parse(words)
    match options.command:
        case "serve":
            from smith_server.cli.serve import serve

            return serve(options)
        case "run":
            from smith_server.cli.run import run

            return run(options)
        case _:
            from smith_server.cli.chat import chat

            return chat(options)
