"""What the words of a command line mean."""

from typing import Any

import pytest

from smith_server.cli.arguments import parse

ANY = {"model": "", "provider": None, "config": None}
TALK = {**ANY, "resume": False, "conversation": None, "max_budget_usd": None, "think": None}
RUN = {"command": "run", "yes": False, "json": False, **TALK}
CHAT = {"command": "chat", "prompt": "", "face": "", **TALK}
MODELS = {"command": "models", "prompt": "", "json": False, **ANY}
SERVE = {"command": "serve", "prompt": "", "stdio": False, **ANY}


def words(line: str) -> list[str]:
    """Words apart at `|`, so that blanks in them can be seen."""
    return [word for word in line.split("|") if word != "(none)"]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("(none)", CHAT),
        ("chat", CHAT),
        ("-c", {**CHAT, "resume": True}),
        ("--no-tui", {**CHAT, "face": "lines"}),
        ("--resume|3f2a", {**CHAT, "conversation": "3f2a"}),
        ("--resume|3f2a|go on", {**RUN, "conversation": "3f2a", "prompt": "go on"}),
        ("run|--resume=3f2a|go", {**RUN, "conversation": "3f2a", "prompt": "go"}),
        ("chat|--tui|-c", {**CHAT, "face": "tui", "resume": True}),
        ("-m|gpt|-p|OpenAI", {**CHAT, "model": "gpt", "provider": "openai"}),
        ("--max-budget-usd|0.5|fix it", {**RUN, "prompt": "fix it", "max_budget_usd": 0.5}),
        ("chat|--max-budget-usd=2", {**CHAT, "max_budget_usd": 2.0}),
        ("--think", {**CHAT, "think": True}),
        ("chat|--no-think", {**CHAT, "think": False}),
        ("fix it|--think", {**RUN, "prompt": "fix it", "think": True}),
        ("run|--no-think|fix", {**RUN, "prompt": "fix", "think": False}),
        ("models|--json", {**MODELS, "json": True}),
        ("serve|--stdio", {**SERVE, "stdio": True}),
        ("--config|a.toml|serve", {**SERVE, "config": "a.toml"}),
        ("run|fix|the|tests", {**RUN, "prompt": "fix the tests"}),
        ("fix the tests", {**RUN, "prompt": "fix the tests"}),
        ("fix the tests|now", {**RUN, "prompt": "fix the tests now"}),
        ("--json|fix it|-y", {**RUN, "prompt": "fix it", "json": True, "yes": True}),
        ("run|fix|--yes|it", {**RUN, "prompt": "fix it", "yes": True}),
        ("--auto-approve|run|fix", {**RUN, "prompt": "fix", "yes": True}),
        ("-c|and then", {**RUN, "prompt": "and then", "resume": True}),
        ("-c|run|the|tests", {**RUN, "prompt": "the tests", "resume": True}),
        ("-m|chat|fix it", {**RUN, "prompt": "fix it", "model": "chat"}),
        ("--model=a b|fix it", {**RUN, "prompt": "fix it", "model": "a b"}),
        ("--|fix", {**RUN, "prompt": "fix"}),
        ("--|run|-v|--json", {**RUN, "prompt": "run -v --json"}),
        ("-y|--|--yes", {**RUN, "prompt": "--yes", "yes": True}),
        ("run|fix|--|--it", {**RUN, "prompt": "fix --it"}),
        ("run|chat", {**RUN, "prompt": "chat"}),
        ("- a list", {**RUN, "prompt": "- a list"}),
        ("run|first line\nsecond", {**RUN, "prompt": "first line\nsecond"}),
        ("first\nsecond line", {**RUN, "prompt": "first\nsecond line"}),
    ],
)
def test_flags_may_stand_anywhere_and_a_prompt_is_what_holds_a_blank(line: str, meant: dict[str, Any]) -> None:
    assert vars(parse(words(line))) == meant


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("chta", 'no command `chta`. Did you mean `smith chat`? A prompt of one word needs `run`: smith run "chta"'),
        ("fix|the|tests|-y", 'no command `fix`. A prompt goes in quotes: smith run "fix the tests"'),
        ("-c|list", "no command `list`."),
        ("help", "no command `help`."),
        ("run", "there is no prompt."),
        ("run|  ", "there is no prompt."),
        (" ", "there is no prompt."),
        ("", "there is no prompt."),
        ("--", "there is no prompt."),
        ("--json|-y", "there is no prompt."),
        ("run|x|--think|--no-think", "argument --no-think: not allowed with argument --think"),
        ("serve|--think", "unrecognized arguments: --think"),
        ("chat|--json", "unrecognized arguments: --json. `smith chat --help` lists the flags"),
        ("run|x|--yess", "unrecognized arguments: --yess. Did you mean --yes? `smith run --help` lists the flags"),
        ("chat|--resum=3f", "unrecognized arguments: --resum=3f. Did you mean --resume?"),
        ("chat|hello", "`smith chat` takes no prompt"),
        ("chat|--|hello", "`smith chat` takes no prompt"),
        ("run|--bogus|x", "unrecognized arguments: --bogus"),
        ("--js|fix it", "unrecognized arguments: --js"),
        ("-m", "argument -m/--model: expected one argument"),
        ("run|x|-p|skynet", "invalid choice: 'skynet'"),
        ("run|x|--config", "argument --config: expected one argument"),
        ("--resume|ab|-c", "not allowed with argument"),
        ("chat|--resume", "argument --resume: expected one argument"),
        ("chat|--resume=", "an id is not empty"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(line: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(words(line) if line else [""])
    out, err = capsys.readouterr()
    assert ending.value.code == 1
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("smith: ")
    assert told in err


@pytest.mark.parametrize("line", ["-h", "--help", "run|--help", "--help|chat", "serve|-h", "--version", "-v", "-V"])
def test_help_and_version_go_to_standard_output(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(words(line))
    out, err = capsys.readouterr()
    assert (ending.value.code, err) == (0, "")
    assert "smith" in out


@pytest.mark.parametrize("line", ["run", "run|-", "-y", "--json", "run|--yes|-", "run|-|--json"])
def test_a_run_that_names_no_prompt_takes_what_is_piped(line: str) -> None:
    assert parse(words(line), lambda: "fix it").prompt == "fix it"


@pytest.mark.parametrize(
    ("line", "prompt"),
    [("run|fix", "fix"), ("run|--|-", "-"), ("run|-|a list", "- a list"), ("fix it", "fix it"), ("chat", "")],
)
def test_what_is_piped_is_left_alone_beside_a_prompt(line: str, prompt: str) -> None:
    def piped() -> str:
        raise AssertionError("it was read")

    assert parse(words(line), piped).prompt == prompt
