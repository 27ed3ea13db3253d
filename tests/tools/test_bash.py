import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import Cancelled, ToolRefusal
from smith_server.core.interrupt import interrupted_by
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult, decode_arguments, spec
from smith_server.tools.bash import Bash, BashArguments
from smith_server.tools.output import MODEL_BYTES
from tests.proc.scene import alive, unique_seconds, until
from tests.tools.shell import Bench, benched


@pytest.fixture
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    async with benched(tmp_path_factory.mktemp("state")) as made:
        yield made


@pytest.fixture
def bash(bench: Bench) -> Bash:
    return bench.bash(seconds=20)


class Turn:
    """What a call sees of its turn."""

    def __init__(self, cwd: Path) -> None:
        self.token = CancelToken()
        self.shown: list[str] = []
        self.context = ToolContext("call", self.token, cwd, self.shown.append)

    async def run(self, bash: Bash, command: str, **more: float) -> ToolResult:
        async with interrupted_by(self.token):
            return await bash.run(BashArguments(command, **more), self.context)


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(tmp_path)


def good(content: str, summary: str) -> ToolResult:
    return ToolResult(content, summary, mutation="attempted")


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("echo hi", good("hi", "exit 0, 1 line")),
        ("printf 'a\\nb'", good("a\nb", "exit 0, 2 lines")),
        ("true", good("[no output]", "exit 0, 0 lines")),
        ("echo wrong >&2; exit 3", good("wrong\n[exit code 3]", "exit 3, 1 line")),
        ("kill -KILL $$", good("[no output]\n[ended by signal KILL]", "ended by signal KILL, 0 lines")),
        ("-x", good("/bin/bash: line 1: -x: command not found\n[exit code 127]", "exit 127, 1 line")),
        ("printf 'a\\xff\\0\\e[31mred\\e[0m\\e]0;t\\a 1%%\\r2%%\\n'", good("2%", "exit 0, 1 line")),
        ("cat; echo $?", good("0", "exit 0, 1 line")),
    ],
    ids=["output", "no last newline", "nothing", "failure", "signal", "a dash", "control sequences", "reads input"],
)
async def test_the_model_is_told_the_output_and_how_it_ended(
    bash: Bash, turn: Turn, command: str, result: ToolResult
) -> None:
    assert await turn.run(bash, command) == result


async def test_a_command_runs_in_the_folder_of_its_turn(bash: Bash, turn: Turn, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path, target_is_directory=True)

    assert (await Turn(link).run(bash, "pwd")).content == str(link)


async def test_a_folder_that_is_gone_is_told(bash: Bash, tmp_path: Path) -> None:
    with pytest.raises(ToolRefusal, match="does not exist"):
        await Turn(tmp_path / "gone").run(bash, "pwd")


async def test_a_timeout_of_the_model_ends_the_command(bash: Bash, turn: Turn) -> None:
    seconds = unique_seconds()

    result = await turn.run(bash, f"echo begun; sleep {seconds} & sleep {seconds}", timeout=1)

    assert result == ToolResult(
        "begun\n[timed out after 1 s]",
        "timed out after 1 s, 1 line",
        ok=False,
        code="timeout",
        mutation="unknown",
    )
    assert alive(seconds) == []


async def test_a_cancel_keeps_what_was_done_and_leaves_nothing(bash: Bash, turn: Turn) -> None:
    seconds = unique_seconds()
    task = asyncio.create_task(turn.run(bash, f"echo begun; sleep {seconds} & sleep {seconds}"))
    assert await until(lambda: turn.shown)
    began = time.monotonic()

    turn.token.request()
    result = await task

    assert time.monotonic() - began < 1
    assert result == ToolResult(
        "begun\n[cancelled]", "cancelled, 1 line", ok=False, code="cancelled", mutation="unknown"
    )
    assert turn.shown == ["begun\n"]
    assert alive(seconds) == []


async def test_a_turn_that_was_cancelled_before_starts_nothing(bash: Bash, turn: Turn, tmp_path: Path) -> None:
    turn.token.request()

    with pytest.raises(Cancelled):
        await turn.run(bash, "touch proof")

    assert not (tmp_path / "proof").exists()


async def test_a_yes_and_a_cancel_in_the_same_moment_leave_nothing_running(bash: Bash, turn: Turn) -> None:
    seconds = unique_seconds()
    task = asyncio.create_task(turn.run(bash, f"sleep {seconds}"))
    await asyncio.sleep(0)

    turn.token.request()

    assert (await task).code == "cancelled"
    assert alive(seconds) == []


async def test_what_runs_on_in_the_background_is_named(bash: Bash, turn: Turn) -> None:
    seconds = unique_seconds()

    result = await turn.run(bash, f"sleep {seconds} & echo $!")

    pid = result.content.partition("\n")[0]
    assert result.content == f"{pid}\n[still running in the background: {pid} sleep {seconds}]"
    assert result.ok


async def test_of_a_long_output_the_model_sees_both_ends(bash: Bash, turn: Turn) -> None:
    result = await turn.run(bash, "seq 200000")

    lines = result.content.splitlines()
    gap, rest = (line for line in lines if line.startswith("["))
    place = lines.index(gap)
    assert lines[:2] == ["1", "2"]
    assert (lines[-2], rest) == ("200000", "[bash_output bash-1 shows what was left out]")
    assert len(result.content) <= MODEL_BYTES + 100
    first, last = int(lines[place - 1]), int(lines[place + 1])
    left_out = len("".join(f"{number}\n" for number in range(first + 1, last)))
    assert gap == f"[{left_out} bytes ({last - first - 1} lines) left out here]"
    assert result.summary == "exit 0, 200000 lines"


async def test_output_is_shown_while_the_command_runs(bash: Bash, turn: Turn) -> None:
    task = asyncio.create_task(turn.run(bash, "echo -e '\\e[1mone\\e[0m'; sleep 0.3; echo two"))

    assert await until(lambda: turn.shown)
    assert not task.done()
    assert turn.shown == ["one\n"]
    assert (await task).content == "one\ntwo"


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("ls -la 'a b' | grep é", "ls -la 'a b' | grep é"),
        ("echo a\nrm b", "echo a⏎rm b"),
        ("echo \x1b[2K\rhi\t\x00", "echo \\u001b[2K\\u000dhi\\u0009\\u0000"),
        (
            "ls \u202etxt.exe\u2066 \u200b\u3164\ufe0f\U000e0041",
            "ls \\u202etxt.exe\\u2066 \\u200b\\u3164\\ufe0f\\U000e0041",
        ),
        ("a\u00a0b\u2003c\u2028d", "a\\u00a0b\\u2003c\\u2028d"),
    ],
    ids=["plain", "two lines", "control characters", "direction and invisible", "blanks that are none"],
)
async def test_a_person_sees_the_whole_command_with_nothing_hidden(
    bash: Bash, turn: Turn, command: str, title: str
) -> None:
    assert await bash.preview(BashArguments(command), turn.context) == Preview(title)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{}", "command"),
        ('{"command": ""}', "command"),
        ('{"command": " \\n\\t"}', "command"),
        ('{"command": 1}', "command"),
        ('{"command": "ls", "timeout": 0}', "timeout"),
        ('{"command": "ls", "timeout": 601}', "timeout"),
        ('{"command": "ls", "timeout": true}', "timeout"),
        ('{"command": "ls", "cwd": "/"}', "cwd"),
    ],
    ids=["missing", "empty", "blank", "a number", "no time", "too much time", "a truth value", "unknown"],
)
def test_arguments_that_do_not_fit_are_refused_by_name(text: str, where: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=where):
        decode_arguments(BashArguments, text)


@pytest.mark.parametrize(
    "text", ['{"command": "ls"}', '{"command": "ls", "timeout": 600}', '{"command": "ls", "timeout": 1.5}']
)
def test_arguments_that_fit_are_taken(text: str) -> None:
    assert isinstance(decode_arguments(BashArguments, text), BashArguments)


def test_the_model_is_told_of_it_in_few_words(bash: Bash) -> None:
    told = spec(bash)
    written = msgspec.json.encode({"name": told.name, "description": told.description, "parameters": told.schema})

    assert len(written) <= 600
    assert re.search(r"After 20 s without a timeout", told.description)
    assert bash.effect is Effect.EXECUTE
