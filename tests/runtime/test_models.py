from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.config.schema import LlmConfig, Settings
from smith_server.core.errors import AgentFailure
from smith_server.llm.catalog import Model
from smith_server.llm.presets import PRESETS, Preset
from smith_server.policy.roles import ROLES, Role
from smith_server.runtime.models import NOTHING_ASKED, Asked, Selected, select_model
from smith_server.runtime.provider_choice import Surroundings, choose_provider

FILE = Path("/etc/smith/config.toml")
BARE = Preset("custom", "http://127.0.0.1:1/v1")
ALL = {"key": "m2", "direct": "m4", "default": "m5"}


class Offer:
    """Notes what is asked of it. Settings at `foreign` paths were made for another provider."""

    def __init__(self, preset: Preset = BARE, offered: Sequence[str] = (), foreign: Sequence[str] = ()) -> None:
        self.preset = preset
        self.offered = offered
        self.foreign = foreign
        self.seen: list[str] = []

    async def names(self) -> Sequence[str]:
        self.seen.append("names")
        return self.offered

    def look(self, model: str) -> Model:
        return Model(1000, 100) if model == "known" else Model()

    def is_meant(self, path: str) -> bool:
        self.seen.append(path)
        return path not in self.foreign


class Recorded(Mapping[str, str]):
    """A table that notes which keys were looked at."""

    def __init__(self, table: dict[str, str]) -> None:
        self.table = table
        self.looked: list[str] = []

    def __getitem__(self, key: str) -> str:
        self.looked.append(key)
        return self.table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


def settings(**changes: Any) -> Settings:
    custom = changes.pop("custom", "")
    made = msgspec.convert({"providers": {"custom": {"model": custom} if custom else {}}}, Settings)
    return msgspec.structs.replace(made, **changes)


async def selected(
    asked: Asked = NOTHING_ASKED, role: Role = ROLES[0], offer: Offer | None = None, **changes: Any
) -> Selected:
    return await select_model(asked, role, settings(**changes), offer or Offer(), FILE)


OWN = msgspec.structs.replace(ROLES[0], model="m3")
STEPS = {
    "1 with the prompt": (Asked("m1", "key"), OWN, ALL, "m6", "m7", ("m1", "request.model", None)),
    "2 by its key": (Asked("", "key"), OWN, ALL, "m6", "m7", ("m2", "request.model_key", "key")),
    "3 the role's own": (Asked("", "unknown"), OWN, ALL, "m6", "m7", ("m3", "role.model", None)),
    "4 by role": (NOTHING_ASKED, ROLES[0], ALL, "m6", "m7", ("m4", "models.role", "direct")),
    "5 by the role's key": (NOTHING_ASKED, ROLES[2], ALL, "m6", "m7", ("m5", "models.default_key", "default")),
    "6 for all": (NOTHING_ASKED, ROLES[0], {}, "m6", "m7", ("m6", "config.default_model", None)),
    "7 of the provider": (NOTHING_ASKED, ROLES[0], {}, "", "m7", ("m7", "providers.custom.model", None)),
    "8 the only one there is": (NOTHING_ASKED, ROLES[0], {}, "", "", ("m8", "catalog", None)),
}


@pytest.mark.parametrize(("asked", "role", "models", "default", "custom", "expected"), STEPS.values(), ids=STEPS)
async def test_the_first_step_that_says_something_names_the_model(
    asked: Asked, role: Role, models: dict[str, str], default: str, custom: str, expected: tuple[str, str, str | None]
) -> None:
    found = await selected(asked, role, Offer(offered=["m8"]), models=models, default_model=default, custom=custom)

    assert found == Selected(*expected)


async def test_later_steps_are_not_looked_at_once_one_has_spoken() -> None:
    for asked, looked in ((Asked("m1", "key"), []), (Asked("", "key"), ["key"]), (NOTHING_ASKED, ["direct"])):
        table, offer = Recorded(ALL), Offer(offered=["m8"])

        await selected(asked, ROLES[0], offer, models=table, default_model="m6", custom="m7")

        assert table.looked == looked
        assert offer.seen == [f"models.{key}" for key in looked]


async def test_empty_entries_say_nothing() -> None:
    models = {"key": "", "direct": "", "default": ""}

    assert (await selected(Asked("", "key"), models=models, default_model="m6")).source == "config.default_model"


async def test_the_built_in_model_of_a_provider_comes_after_what_was_set_for_it() -> None:
    offer = Offer(PRESETS["openrouter"])

    assert await selected(offer=offer) == Selected("qwen/qwen3.8-max", "built-in")


async def test_what_was_set_for_another_provider_is_passed_over() -> None:
    offer = Offer(offered=["m8"], foreign=("models.direct", "models.default", "default_model"))

    assert (await selected(offer=offer, models=ALL, default_model="m6", custom="m7")).model == "m7"


async def test_a_model_that_was_chosen_for_another_provider_is_passed_over() -> None:
    asked = [Asked("m1", provider=provider) for provider in ("", "custom", "openrouter")]

    assert [(await selected(each, default_model="m6")).model for each in asked] == ["m1", "m1", "m6"]


async def test_limits_come_from_what_is_known_else_a_window_is_assumed() -> None:
    known, unknown = await selected(Asked("known")), await selected(Asked("strange"))

    assert (known.context_window, known.max_output_tokens) == (1000, 100)
    assert (unknown.context_window, unknown.max_output_tokens) == (128_000, None)


@pytest.mark.parametrize("offered", [(), ("a", "b")], ids=["none", "two"])
async def test_when_nothing_names_a_model_the_error_names_the_settings_and_their_file(offered: Sequence[str]) -> None:
    with pytest.raises(AgentFailure) as caught:
        await selected(offer=Offer(offered=offered))

    error = caught.value.error
    assert (error.kind, error.code) == ("policy", "no_model")
    assert "`providers.custom.model` or `default_model` in /etc/smith/config.toml" in error.message


def around(*, ollama: bool = False, local: bool = False, **environ: str) -> Surroundings:
    async def answers(url: str) -> bool:
        return ollama

    return Surroundings(environ, answers, FILE, lambda: local)


async def test_no_provider_is_an_error_that_lists_the_ways_and_never_a_script() -> None:
    with pytest.raises(AgentFailure) as caught:
        await choose_provider(Settings(), around(SMITH_SCRIPT="/script.json"))

    error = caught.value.error
    assert (error.kind, error.code) == ("policy", "no_provider")
    for way in (
        "OPENROUTER_API_KEY",
        "OPENAI_API_KEY",
        "ollama serve",
        "`llm_config.api_url` in /etc/smith/config.toml",
    ):
        assert way in error.message


async def test_an_address_is_preferred_to_keys_and_keys_to_an_ollama() -> None:
    keys = around(ollama=True, OPENAI_API_KEY="k", OPENROUTER_API_KEY="k")
    address = Settings(llm_config=LlmConfig(api_url="http://127.0.0.1:1/v1"))

    assert (await choose_provider(address, keys)).preset.name == "custom"
    assert (await choose_provider(Settings(), keys)).preset.name == "openrouter"
    assert (await choose_provider(Settings(), around(ollama=True))).preset.name == "ollama"
