"""The words of the command line: which command is meant, and its flags. Imports nothing of the program."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from smith_server import __version__

USAGE_ERROR = 1

_PROVIDERS = ("openrouter", "anthropic", "openai", "ollama", "local", "custom", "scripted")
_MOST_MONEY = 1_000_000_000
_ABOUT = frozenset({"-h", "--help", "-v", "-V", "--version"})
_HEADLESS = frozenset({"--json", "-y", "--yes", "--auto-approve"})
_WITH_VALUE = frozenset({"-m", "--model", "-p", "--provider", "--config", "--max-budget-usd", "--resume"})


def _nothing() -> str:
    return ""


def parse(words: Sequence[str], piped: Callable[[], str] = _nothing) -> argparse.Namespace:
    """The command (`command`) and its flags. Exits with 0 after help or version, with 1 for what cannot be meant.

    `piped` gives the prompt of a `run` that names none, or `-`.
    """
    options, prompt = _parted(words)
    at = _first_word(options)
    if at is None:
        if _ABOUT & set(options):
            _about().parse_args(options)
        is_headless = prompt is not None or _HEADLESS & set(options)
        return _parsed("run" if is_headless else "chat", options, prompt or (), piped)
    if len(options[at].split()) != 1:
        return _parsed("run", options, prompt or (), piped)
    if options[at] not in COMMANDS:
        _about().error(_unknown(options[at], [*options[at + 1 :], *(prompt or ())]))
    return _parsed(options[at], [*options[:at], *options[at + 1 :]], prompt or (), piped)


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


def _parsed(
    command: str, options: Sequence[str], prompt: Sequence[str], piped: Callable[[], str]
) -> argparse.Namespace:
    parser = COMMANDS[command]()
    if not _ABOUT & set(options):
        # It would be put together for errors, and ours do not show it.
        parser.usage = ""
    found, strange = parser.parse_known_intermixed_args(options)
    if strange:
        parser.error(_strange(strange, command, parser.flags))
    found.command = command
    if command == "run" and not prompt and found.prompt in ([], ["-"]):
        found.prompt = [piped()]
    found.prompt = " ".join([*found.prompt, *prompt])
    if command != "run" and found.prompt:
        parser.error(f"`smith {command}` takes no prompt; smith run does")
    if command == "run" and not found.prompt.strip():
        parser.error('there is no prompt. Say what to do: smith run "fix the tests", or send it on standard input')
    return found


def _strange(words: Sequence[str], command: str, flags: Iterable[str]) -> str:
    """What is said of words that are no flags of a command."""
    import difflib

    near = difflib.get_close_matches(words[0].partition("=")[0], flags, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"unrecognized arguments: {' '.join(words)}.{hint} `smith {command} --help` lists the flags"


def _unknown(word: str, rest: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f" Did you mean `smith {near[0]}`?" if near else ""
    prompt = " ".join([word, *(each for each in rest if not each.startswith("-"))])
    way = "A prompt goes in quotes" if rest else "A prompt of one word needs `run`"
    return f'there is no command `{word}`.{hint} {way}: smith run "{prompt}"'


class _Parser(argparse.ArgumentParser):
    """Its help is a written page: what argparse makes of flags is no help to read."""

    page = ""

    @property
    def flags(self) -> Iterable[str]:
        """Every spelling of every flag."""
        return self._option_string_actions

    def format_help(self) -> str:
        from smith_server.cli.pages import page

        return page(self.page)

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"smith: {message}\n")


def _parser(name: str) -> _Parser:
    parser = _Parser(prog=f"smith {name}".rstrip(), allow_abbrev=False)
    parser.page = name
    return parser


def _about() -> _Parser:
    parser = _parser("")
    parser.add_argument("-v", "-V", "--version", action="version", version=f"smith {__version__}")
    return parser


def _serve() -> _Parser:
    parser = _parser("serve")
    parser.add_argument("--stdio", action="store_true")
    return _with_choices(parser)


def _run() -> _Parser:
    parser = _parser("run")
    parser.add_argument("-y", "--yes", "--auto-approve", action="store_true")
    parser.add_argument("--json", action="store_true")
    return _with_choices(_with_talk(parser))


def _chat() -> _Parser:
    parser = _parser("chat")
    face = parser.add_mutually_exclusive_group()
    for flag, name in (("--tui", "tui"), ("--no-tui", "lines")):
        face.add_argument(flag, dest="face", action="store_const", const=name, default="")
    return _with_choices(_with_talk(parser))


def _models() -> _Parser:
    parser = _parser("models")
    parser.add_argument("--json", action="store_true")
    return _with_choices(parser)


def _with_talk(parser: _Parser) -> _Parser:
    """What both ways to talk take."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-c", "--continue", dest="resume", action="store_true")
    which.add_argument("--resume", dest="conversation", metavar="ID", type=_id)
    parser.add_argument("--max-budget-usd", metavar="USD", type=_money)
    thinking = parser.add_mutually_exclusive_group()
    for flag, value in (("--think", True), ("--no-think", False)):
        thinking.add_argument(flag, dest="think", action="store_const", const=value)
    return parser


def _id(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("an id is not empty; `smith run /history` lists them")
    return text.strip()


def _money(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= _MOST_MONEY:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return found


def _with_choices(parser: _Parser) -> _Parser:
    parser.add_argument("prompt", nargs="*")
    parser.add_argument("-m", "--model", default="")
    parser.add_argument("-p", "--provider", type=str.lower, choices=_PROVIDERS)
    parser.add_argument("--config")
    return parser


COMMANDS: dict[str, Callable[[], _Parser]] = {"run": _run, "chat": _chat, "serve": _serve, "models": _models}
