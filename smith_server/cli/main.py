"""The entry: picks a subcommand and imports only what that needs."""

import gc
import sys

from smith_server import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code.

    0 done · 1 failed, or the call was wrong · 2 the limit of costs is reached · 3 finished, but calls were
    refused because nobody could be asked · 4 `tool_step_budget` is used up · 130 interrupted.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words in (["--version"], ["-v"], ["-V"]):
        print(f"smith {__version__}")
        return 0
    from smith_server.cli.streams import INTERRUPTED, finish, ready

    ready()
    try:
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        finish()


def _run(words: list[str]) -> int:
    # Imports make a great many objects and no garbage: looking for some costs a tenth of a start.
    gc.disable()
    from smith_server.cli.arguments import parse
    from smith_server.cli.streams import take_stdout

    options = parse(words, _piped)
    match options.command:
        case "serve":
            from smith_server.cli.serve import serve

            return serve(options)
        case "run":
            answers = take_stdout()
            from smith_server.cli.run import run

            return run(options, answers)
        case "models":
            answers = take_stdout()
            from smith_server.cli.models import models

            return models(options, answers)
        case _:
            answers = take_stdout()
            from smith_server.cli.chat import chat

            return chat(options, answers)


def _piped() -> str:
    from smith_server.cli.piped import piped
    from smith_server.core.errors import AgentFailure

    try:
        return piped()
    except AgentFailure as problem:
        # Ends with 1, the text on standard error.
        raise SystemExit(f"smith: {problem.error.message}") from None
