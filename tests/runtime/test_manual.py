"""What `/help` says fits into a narrow window, for every command."""

from pathlib import Path

import pytest

from smith_server.runtime.commands.manual import PAGES
from smith_server.runtime.commands.table import COMMANDS
from smith_server.runtime.services import Services

WIDTH = 55
"""Every face sets two columns before it, and a window of 60 may have a margin."""

CONFIG = """\
/config [get|set|unset …]
Show and change settings.
Alone it shows all settings. Files and other ways to
set them: docs/config.md.

  get <path>          a setting or table, who set it
  set <path> <value>  change it, here and from now on
  unset <path>        take such a change back

For example:
  /config
  /config get bash
  /config set tool_step_budget 40"""


async def told(services: Services, root: Path, line: str) -> str:
    result = await services.run_line(line, await services.sessions.get("", root))
    assert result.error is None
    return result.text


def test_every_command_has_its_page() -> None:
    assert list(PAGES) == list(COMMANDS)


async def test_the_list_has_a_line_for_each_command(services: Services, tmp_path: Path) -> None:
    *rows, _, hint = (await told(services, tmp_path, "/help")).splitlines()
    assert [row.split()[0] for row in rows] == [f"/{name}" for name in COMMANDS]
    assert hint == "/help <command> tells more of one."
    assert max(map(len, [*rows, hint])) <= WIDTH


@pytest.mark.parametrize("line", ["/help config", "/help /config", "/help  config "])
async def test_one_command_is_told_with_arguments_and_examples(services: Services, tmp_path: Path, line: str) -> None:
    assert await told(services, tmp_path, line) == CONFIG


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_page_is_narrow_and_shows_the_command_as_it_is_typed(
    services: Services, tmp_path: Path, name: str
) -> None:
    lines = (await told(services, tmp_path, f"/help {name}")).splitlines()
    assert lines[0] == f"/{name} {COMMANDS[name].usage}".rstrip()
    assert max(map(len, lines)) <= WIDTH
    assert [each for each in PAGES[name].examples if each.split()[0] != f"/{name}"] == []
    assert bool(PAGES[name].examples) == bool(COMMANDS[name].usage)


async def test_a_command_that_is_not_there_is_asked_about(services: Services, tmp_path: Path) -> None:
    result = await services.run_line("/help confg", await services.sessions.get("", tmp_path))
    assert result.error is not None
    assert (result.error.code, result.error.message) == (
        "unknown_command",
        "There is no command /confg. Did you mean /config? /help lists them.",
    )
