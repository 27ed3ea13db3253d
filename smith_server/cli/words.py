"""The words of the command line: what there is, and what was meant by words that leave something out."""

import argparse
from collections.abc import Sequence

from smith_server import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # `--help` shall not wait for an import that only tells about types
    from typing import NoReturn

COMMANDS = ("serve", "run", "chat")
_HELP = """\
smith is a coding agent whose edits land in your open, unsaved buffer and never clobber what you typed.

  smith                      talk to it in this terminal
  smith run "fix the tests"  run one prompt and print the answer
  smith serve                the language server that editors start
"""


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The command and its options. Ends the process where the words ask for help or make no sense."""
    parser = _parser()
    return parser.parse_args(_with_command(list(words), parser))


def _with_command(words: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """The words with the command that they leave out: a prompt is one word with a blank, or all behind `--`."""
    if words[:1] == ["--"]:
        return ["run", "--", " ".join(words[1:])]
    plain = [word for word in words if not word.startswith("-")]
    if not plain:
        return words if {"-h", "--help", "--version", "-V"} & set(words) else ["chat", *words]
    first = plain[0]
    if first in COMMANDS or words[0] != first:
        return words
    if " " not in first.strip():
        parser.error(_unknown(first))
    return ["run", *words]


def _unknown(word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f" Did you mean `smith {near[0]}`?" if near else ""
    return f'there is no command `{word}`.{hint} A prompt goes in quotes: smith run "{word} …"'


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> "NoReturn":
        self.exit(1, f"smith: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="smith", description=_HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-V", "--version", action="version", version=f"smith {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    serve = commands.add_parser("serve", help="speak the language server protocol on standard input and output")
    serve.add_argument("--stdio", action="store_true", help="accepted for editors that pass it; always so")
    _common(serve)
    run = commands.add_parser("run", help="run one prompt without asking anybody")
    run.add_argument("prompt", nargs="+", help="what to do")
    run.add_argument("-y", "--yes", action="store_true", help="run every call without asking")
    run.add_argument("-c", "--continue", dest="resume", action="store_true", help="go on with the last conversation")
    run.add_argument("--json", action="store_true", help="print every event as a line of JSON")
    _common(run)
    chat = commands.add_parser("chat", help="talk in this terminal")
    chat.add_argument("-c", "--continue", dest="resume", action="store_true", help="go on with the last conversation")
    _common(chat)
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", default="", help="model to use")
    parser.add_argument("-p", "--provider", type=str.lower, choices=_PROVIDERS, help="provider to use")
    parser.add_argument("--config", help="settings file to use instead of the usual one")


_PROVIDERS = ("openrouter", "openai", "ollama", "custom", "scripted")
