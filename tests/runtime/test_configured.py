"""Settings become the preset of a provider, and the limits of a model."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.config.schema import ModelSettings, Settings
from smith_server.config.trees import over
from smith_server.core.errors import AgentFailure
from smith_server.llm.presets import PRESETS, ThinkingBudget, ThinkingEffort
from smith_server.runtime.configured import configured, model_settings, thoughtless, wish_to_think

FILE = Path("/home/config.toml")


def settings(**tables: Any) -> Settings:
    return msgspec.convert(tables, Settings)


THINKING: dict[str, tuple[dict[str, Any], Any]] = {
    "off": ({}, None),
    "effort": ({"defaults": {"thinking": True}}, ThinkingEffort("medium")),
    "another effort": (
        {"defaults": {"thinking": True}, "providers": {"anthropic": {"thinking_effort": "max"}}},
        ThinkingEffort("max"),
    ),
    "budget": (
        {"defaults": {"thinking": True}, "providers": {"anthropic": {"thinking_budget": 5000}}},
        ThinkingBudget(5000),
    ),
    "a budget without the wish": ({"providers": {"anthropic": {"thinking_budget": 5000}}}, None),
}


@pytest.mark.parametrize(("tables", "thinking"), THINKING.values(), ids=THINKING)
def test_thinking_is_asked_of_anthropic_as_it_is_set(tables: dict[str, Any], thinking: Any) -> None:
    given = settings(**tables)
    assert configured("anthropic", given, FILE).thinking == thinking
    assert configured("openrouter", given, FILE).thinking is None


@pytest.mark.parametrize("name", ["openai", "openrouter", "ollama"])
def test_an_effort_is_asked_of_the_provider_it_is_set_for(name: str) -> None:
    given = settings(providers={name: {"reasoning_effort": "low"}})
    assert configured(name, given, FILE).effort == "low"
    assert configured(name, settings(), FILE).effort == ""
    assert configured(name, settings(providers={name: {"reasoning_effort": "none"}}), FILE).effort == ""


WISHES: dict[str, tuple[str, dict[str, Any], bool, Any]] = {
    "thinking that nobody set": ("anthropic", {}, True, (ThinkingEffort("medium"), "")),
    "thinking that was set": ("anthropic", {"defaults": {"thinking": True}}, False, (None, "")),
    "an effort that nobody set": ("openai", {}, True, (None, "")),
    "an effort that was set": ("openai", {"providers": {"openai": {"reasoning_effort": "high"}}}, True, (None, "high")),
    "no effort": ("ollama", {"providers": {"ollama": {"reasoning_effort": "high"}}}, False, (None, "")),
    "no effort of an address": ("custom", {"providers": {"custom": {"reasoning_effort": "low"}}}, False, (None, "")),
}


@pytest.mark.parametrize(("name", "tables", "think", "expected"), WISHES.values(), ids=WISHES)
def test_a_wish_to_think_wins_over_the_settings_and_touches_no_effort(
    name: str, tables: dict[str, Any], think: bool, expected: Any
) -> None:
    given = settings(**over({"llm_config": {"api_url": "http://maker.test/v1"}, **tables}, wish_to_think(think)))
    found = configured(name, given, FILE)
    assert (found.thinking, found.effort) == expected


@pytest.mark.parametrize(
    ("name", "tables", "why"),
    [
        ("anthropic", {}, ""),
        ("openai", {"providers": {"openai": {"reasoning_effort": "low"}}}, ""),
        ("openai", {}, "its models go by `providers.openai.reasoning_effort`, which is not set"),
        ("local", {}, "its model does not reason"),
    ],
    ids=["thinks", "has an effort", "no effort", "does not reason"],
)
def test_a_wish_to_think_that_has_no_effect_is_told(name: str, tables: dict[str, Any], why: str) -> None:
    found = configured(name, settings(**over(tables, wish_to_think(True))), FILE)
    assert thoughtless(found) == (why and f"The wish to think has no effect with {name}: {why}.")


def test_caching_can_be_switched_off() -> None:
    given = settings(providers={"anthropic": {"cache": False}})
    assert (configured("anthropic", given, FILE).cache, configured("anthropic", settings(), FILE).cache) == (
        False,
        True,
    )


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "custom"])
def test_address_and_headers_can_be_set_for_every_provider(name: str) -> None:
    own = {"base_url": "http://box:1/v1/", "headers": {"X-Team": "blue"}}
    found = configured(name, settings(providers={name: own}), FILE)
    assert found.base_url == "http://box:1/v1"
    assert found.headers == {**PRESETS[name].headers, "X-Team": "blue"}


def test_a_custom_provider_needs_an_address() -> None:
    with pytest.raises(AgentFailure, match=str(FILE)):
        configured("custom", settings(), FILE)


def test_a_model_has_limits_of_its_own_before_those_of_its_provider() -> None:
    single = {"m": {"temperature": 0.0, "max_output_tokens": 100}, "n": {"temperature": 1.5}}
    given = settings(providers={"openai": {"temperature": 0.5, "max_output_tokens": 900, "models": single}})
    found = {name: model_settings(given, "openai", name) for name in ("m", "n", "other")}
    assert found == {
        "m": ModelSettings(temperature=0.0, max_output_tokens=100),
        "n": ModelSettings(temperature=1.5, max_output_tokens=900),
        "other": ModelSettings(temperature=0.5, max_output_tokens=900),
    }
