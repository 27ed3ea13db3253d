import asyncio
from pathlib import Path

import pytest

from smith_server.config.paths import Places
from smith_server.config.schema import Providers as ProvidersTable
from smith_server.config.schema import ProviderSettings, Settings
from smith_server.config.schema.models import Defaults, LlmConfig
from smith_server.core.events import Event
from smith_server.policy.roles import ROLES
from smith_server.runtime.models import NOTHING_ASKED, Selected
from smith_server.runtime.offered import Listed
from smith_server.runtime.options import Options
from smith_server.runtime.providers import Providers, Wish


def providers_in(folder: Path) -> Providers:
    return Providers(Options(Places(folder, folder, folder), {}))


async def test_warming_asks_a_server_on_this_machine_nothing(tmp_path: Path) -> None:
    asked: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = Settings(llm_config=LlmConfig(api_url=f"http://127.0.0.1:{port}/v1"), default_model="m")
    providers, events = providers_in(tmp_path), list[Event]()
    await providers.warm(settings, events.append)
    picked = await providers.pick(Wish(settings, NOTHING_ASKED, ROLES[0]), events.append)
    assert (picked.provider.name, picked.selected, asked) == ("custom", Selected("m", "config.default_model"), [])
    await providers.close()
    server.close()


async def test_warming_an_address_that_is_none_is_no_matter(tmp_path: Path) -> None:
    providers = providers_in(tmp_path)
    await providers.warm(Settings(llm_config=LlmConfig(api_url="http://localhost:none/v1")), list[Event]().append)
    await providers.close()


async def test_the_models_of_the_provider_in_use_are_known_without_asking(tmp_path: Path) -> None:
    providers = Providers(Options(Places(tmp_path, tmp_path, tmp_path), {"ANTHROPIC_API_KEY": "k"}))
    known = providers.known(Settings(default_model="mine"))
    assert {"mine", "claude-opus-5", "claude-haiku-4-5"} <= set(known)
    assert "qwen/qwen3.8-max" not in known
    await providers.close()


DEAD = {"OLLAMA_HOST": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("environ", "settings", "told"),
    [
        ({}, Settings(), "No model to talk to."),
        ({"OPENAI_API_KEY": "k"}, Settings(), ""),
        ({}, Settings(defaults=Defaults(provider="openai")), "OPENAI_API_KEY"),
        ({}, Settings(defaults=Defaults(provider="scripted")), "SMITH_SCRIPT"),
        ({}, Settings(defaults=Defaults(provider="custom")), "llm_config.api_url"),
        ({}, Settings(llm_config=LlmConfig(api_url="http://127.0.0.1:1/v1")), ""),
        (
            {},
            Settings(
                defaults=Defaults(provider="openai"),
                providers=ProvidersTable(openai=ProviderSettings(api_key_command="false")),
            ),
            "",
        ),
    ],
    ids=["nothing", "key", "no key", "no script", "no address", "address", "command for a key"],
)
async def test_what_is_missing_is_known_before_anything_is_sent(
    tmp_path: Path, environ: dict[str, str], settings: Settings, told: str
) -> None:
    providers = Providers(Options(Places(tmp_path, tmp_path, tmp_path), {**DEAD, **environ}))
    missing = await providers.lacking(settings)
    assert (told in missing, bool(missing)) == (True, bool(told))
    await providers.close()


@pytest.mark.parametrize(
    ("environ", "settings", "listed"),
    [
        ({}, Settings(defaults=Defaults(provider="local")), Listed("local", ("gemma-3-270m",), True)),
        ({}, Settings(defaults=Defaults(provider="ollama"), default_model="mine"), Listed("ollama")),
        ({}, Settings(llm_config=LlmConfig(api_url="http://127.0.0.1:1/v1")), Listed("custom")),
        ({"OPENAI_API_KEY": "k"}, Settings(default_model="mine"), Listed("openai", ("gpt-5.6-luna", "mine"))),
    ],
    ids=["local", "no ollama answers", "own address", "built in"],
)
async def test_what_a_provider_offers_is_known_as_far_as_nothing_is_waited_for(
    tmp_path: Path, environ: dict[str, str], settings: Settings, listed: Listed
) -> None:
    providers = Providers(Options(Places(tmp_path, tmp_path, tmp_path), {**DEAD, **environ}))
    assert await providers.listed(settings) == listed
    await providers.close()


@pytest.mark.parametrize(
    ("name", "has", "near"),
    [
        ("gemma4", True, ["gemma4:latest"]),
        ("qwen:free", True, ["qwen"]),
        ("gema4:latest", False, ["gemma4:latest"]),
        ("nope", False, []),
    ],
)
def test_a_name_may_go_without_its_tag_and_else_has_those_that_are_near(name: str, has: bool, near: list[str]) -> None:
    listed = Listed("ollama", ("gemma4:latest", "qwen"), True)
    assert (listed.has(name), list(listed.near(name))[:1]) == (has, near)
