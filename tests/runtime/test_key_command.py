"""A key that a command prints."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.config.schema import Settings
from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentFailure
from smith_server.core.messages import UserMessage
from smith_server.core.ports import Request
from smith_server.policy.roles import ROLES
from smith_server.runtime.models import NOTHING_ASKED
from smith_server.runtime.providers import Wish
from tests.llm.hearing import greeting
from tests.llm.server import serving
from tests.runtime.test_providers import providers_in


def wish(url: str, command: str) -> Wish:
    tables: dict[str, Any] = {
        "llm_config": {"api_url": url},
        "default_model": "m",
        "providers": {"custom": {"api_key_command": command}},
    }
    return Wish(msgspec.convert(tables, Settings), NOTHING_ASKED, ROLES[0])


async def test_the_command_is_run_once_and_its_first_line_is_the_key(tmp_path: Path) -> None:
    command = f"echo run >> {tmp_path}/runs; echo ' sk-printed-1 '; echo more"
    async with serving(greeting) as server:
        providers = providers_in(tmp_path)
        for _ in range(2):
            picked = await providers.pick(wish(server.url, command), lambda event: None)
            request = Request("m", "", (UserMessage("1", "Hi"),))
            [delta async for delta in picked.provider.stream(request, CancelToken())]
        await providers.close()
    asked = [each for each in server.asked if each.line.startswith("POST")]
    assert [each.headers["authorization"] for each in asked] == ["Bearer sk-printed-1"] * 2
    assert picked.secret == {"LLM_API_KEY": "sk-printed-1"}
    assert (tmp_path / "runs").read_text() == "run\n"


@pytest.mark.parametrize("command", ["exit 3", "true", "echo sk-secret; exit 1"], ids=["fails", "silent", "both"])
async def test_a_command_that_gives_no_key_is_told_without_what_it_printed(command: str, tmp_path: Path) -> None:
    providers = providers_in(tmp_path)
    with pytest.raises(AgentFailure) as refused:
        await providers.pick(wish("http://127.0.0.1:1/v1", command), lambda event: None)
    await providers.close()
    assert refused.value.error.code == "no_key"
    assert "api_key_command" in refused.value.error.message
    assert "sk-secret" not in refused.value.error.message
