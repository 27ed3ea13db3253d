"""The words of the command line: which command is meant, and its flags. Imports nothing of the program."""

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from smith_server import __version__

USAGE_ERROR = 1

_HELP = """\
smith is a coding agent whose edits land in your open, unsaved buffer and never clobber what you typed.

  smith                      talk to it in this terminal
  smith "fix the tests"      run one prompt and print the answer; the same as smith run "fix the tests"
  smith serve                the language server that editors start
  smith models               what the provider offers, with window, limits and price

smith COMMAND --help tells more of run, chat, serve and models.
"""
_EXIT_CODES = """\
exit codes: 0 done, 1 failed, 2 the limit of costs is reached, 3 finished but calls were refused because nobody could
be asked, 4 `tool_step_budget` is used up, 130 interrupted
"""
_PROVIDERS = ("openrouter", "anthropic", "openai", "ollama", "local", "custom", "scripted")
_FACES = (
    ("--tui", "tui", "the usual session, with a word on why where it cannot be"),
    ("--no-tui", "lines", "plain lines, nothing is drawn"),
)
_THINKING = (
    ("--think", True, "let Anthropic's models think before they answer, whatever the settings say"),
    ("--no-think", False, "ask no model to think, whatever the settings say"),
)
_MOST_MONEY = 1_000_000_000
_ABOUT = frozenset({"-h", "--help", "-v", "-V", "--version"})
_HEADLESS = frozenset({"--json", "-y", "--yes", "--auto-approve"})
_WITH_VALUE = frozenset({"-m", "--model", "-p", "--provider", "--config", "--max-budget-usd"})


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The command (`command`) and its flags. Exits with 0 after help or version, with 1 for what cannot be meant."""
    options, prompt = _parted(words)
    at = _first_word(options)
    if at is None:
        if _ABOUT & set(options):
            _about().parse_args(options)
        is_headless = prompt is not None or _HEADLESS & set(options)
        return _parsed("run" if is_headless else "chat", options, prompt or ())
    if len(options[at].split()) != 1:
        return _parsed("run", options, prompt or ())
    if options[at] not in COMMANDS:
        _about().error(_unknown(options[at], [*options[at + 1 :], *(prompt or ())]))
    return _parsed(options[at], [*options[:at], *options[at + 1 :]], prompt or ())


def _parted(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """What may hold flags, and what stands behind `--`, if there is one."""
    if "--" not in words:
        return list(words), None
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])


def _first_word(options: Sequence[str]) -> int | None:
    """Where the first word stands that is neither a flag nor the value of one."""
    is_value = False
    for at, word in enumerate(options):
        if not is_value and not _is_flag(word):
            return at
        is_value = not is_value and word in _WITH_VALUE
    return None


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word.partition("=")[0].split()) == 1


def _parsed(command: str, options: Sequence[str], prompt: Sequence[str]) -> argparse.Namespace:
    parser = COMMANDS[command]()
    if not _ABOUT & set(options):
        # It would be put together for errors, and ours do not show it.
        parser.usage = ""
    found = parser.parse_intermixed_args(options)
    found.command = command
    found.prompt = " ".join([*found.prompt, *prompt])
    if command != "run" and found.prompt:
        parser.error(f"`smith {command}` takes no prompt; smith run does")
    if command == "run" and not found.prompt.strip():
        parser.error('there is no prompt. Say what to do: smith run "fix the tests"')
    return found


def _unknown(word: str, rest: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f" Did you mean `smith {near[0]}`?" if near else ""
    prompt = " ".join([word, *(each for each in rest if not each.startswith("-"))])
    way = "A prompt goes in quotes" if rest else "A prompt of one word needs `run`"
    return f'there is no command `{word}`.{hint} {way}: smith run "{prompt}"'


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"smith: {message}\n")


def _parser(name: str, text: str, epilog: str = "") -> _Parser:
    prog = f"smith {name}".rstrip()
    shape = argparse.RawDescriptionHelpFormatter
    return _Parser(prog=prog, description=text, epilog=epilog, formatter_class=shape, allow_abbrev=False)


def _about() -> _Parser:
    parser = _parser("", _HELP)
    parser.usage = "smith [COMMAND] [flags] [prompt]"
    parser.add_argument("-v", "-V", "--version", action="version", version=f"smith {__version__}")
    return parser


def _serve() -> _Parser:
    parser = _parser("serve", "Speak the language server protocol on standard input and output.")
    parser.add_argument("--stdio", action="store_true", help="accepted for editors that pass it; always so")
    return _with_choices(parser, argparse.SUPPRESS)


def _run() -> _Parser:
    parser = _parser("run", "Run one prompt without asking anybody, and print the answer.", _EXIT_CODES)
    parser.add_argument("-y", "--yes", "--auto-approve", action="store_true", help="run every call without asking")
    parser.add_argument("--json", action="store_true", help="print every event as a line of JSON")
    return _with_choices(_with_talk(parser), "what to do; all words behind -- belong to it")


def _chat() -> _Parser:
    parser = _parser("chat", "Talk in this terminal. Ctrl-C stops a turn, Ctrl-D leaves.")
    face = parser.add_mutually_exclusive_group()
    for flag, name, text in _FACES:
        face.add_argument(flag, dest="face", action="store_const", const=name, default="", help=text)
    return _with_choices(_with_talk(parser), argparse.SUPPRESS)


def _models() -> _Parser:
    parser = _parser("models", "List the models that the provider offers: window, output limit, price.")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each")
    return _with_choices(parser, argparse.SUPPRESS)


def _with_talk(parser: _Parser) -> _Parser:
    """What both ways to talk take."""
    text = "go on with the last conversation of this project"
    parser.add_argument("-c", "--continue", dest="resume", action="store_true", help=text)
    text = "stop once the conversation has cost so many US dollars"
    parser.add_argument("--max-budget-usd", metavar="USD", type=_money, help=text)
    thinking = parser.add_mutually_exclusive_group()
    for flag, value, text in _THINKING:
        thinking.add_argument(flag, dest="think", action="store_const", const=value, help=text)
    return parser


def _money(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= _MOST_MONEY:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return found


def _with_choices(parser: _Parser, prompt: str) -> _Parser:
    parser.add_argument("prompt", nargs="*", help=prompt)
    parser.add_argument("-m", "--model", default="", help="model to use")
    parser.add_argument("-p", "--provider", type=str.lower, choices=_PROVIDERS, help="provider to use")
    parser.add_argument("--config", help="settings file to use instead of the usual one")
    return parser


COMMANDS: dict[str, Callable[[], _Parser]] = {"run": _run, "chat": _chat, "serve": _serve, "models": _models}
