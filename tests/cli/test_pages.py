"""What `--help` says: all flags of each command, narrow enough for any terminal."""

import contextlib
from collections.abc import Iterator

import pytest

from smith_server.cli.arguments import COMMANDS, parse
from smith_server.cli.pages import page
from smith_server.config.environment import VARIABLES
from smith_server.llm.presets import PRESETS

EVERY = ["", *COMMANDS]


def flags(command: str) -> Iterator[str]:
    for action in COMMANDS[command]()._actions:
        yield from action.option_strings


@pytest.mark.parametrize("command", EVERY, ids=lambda name: name or "smith")
def test_no_line_is_wider_than_a_terminal(command: str) -> None:
    lines = page(command).split("\n")
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_tells_every_flag_of_its_command(command: str) -> None:
    words = set(page(command).replace(",", " ").split())
    assert set(flags(command)) - words == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_tells_no_flag_that_its_command_does_not_take(command: str) -> None:
    rows = [line for line in page(command).splitlines() if line.startswith("  -")]
    told = {word.strip(",") for line in rows for word in line.split("   ")[0].split() if word.startswith("-")}
    assert told - set(flags(command)) == set()


@pytest.mark.parametrize(
    ("command", "codes"),
    [
        ("", "0 1 2 3 4 130"),
        ("run", "0 1 2 3 4 130"),
        ("chat", "0 1 130 else"),
        ("serve", "0 1"),
        ("models", "0 1"),
    ],
)
def test_a_page_tells_the_exit_codes_of_its_command_and_every_variable(command: str, codes: str) -> None:
    lines = [line.split()[0] for line in page(command).splitlines() if line.startswith("  ")]
    assert " ".join(line for line in lines if line.isdigit() or line == "else") == codes
    keys = {preset.key_variable for preset in PRESETS.values() if preset.key_variable}
    assert ({*VARIABLES, *keys, "SMITH_HOME", "SMITH_SCRIPT"} - set(lines)) == set()


@pytest.mark.parametrize(
    ("line", "command"),
    [("--help", ""), ("-h", ""), ("run -h", "run"), ("--help chat", "chat"), ("serve --help", "serve")],
)
def test_the_page_of_a_command_is_printed(line: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        parse(line.split())
    assert capsys.readouterr().out == page(command)
