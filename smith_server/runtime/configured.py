"""A provider as the settings want it: its preset with address, headers, limits and the wish for reasoning."""

from pathlib import Path
from typing import Any

import msgspec

from smith_server.config.schema import ModelSettings, ProviderSettings, Reasoning, Settings
from smith_server.core.errors import failure
from smith_server.llm.presets import PRESETS, Preset, ThinkingBudget, ThinkingEffort, preset
from smith_server.llm.stall import Timeouts
from smith_server.runtime.models import provider_settings


def configured(name: str, settings: Settings, file: Path) -> Preset:
    """The preset `name`. Raises a `policy` failure `no_address` for a `custom` one without address in `file`."""
    own, limits = provider_settings(settings, name), settings.llm_config
    address = own.base_url or (limits.api_url if name == "custom" else "")
    if name == "custom" and not address:
        raise failure("policy", "no_address", f"The provider `custom` needs `llm_config.api_url` in {file}.")
    found = preset(name, {"OLLAMA_HOST": settings.providers.ollama.host}, address)
    return msgspec.structs.replace(
        found,
        key_variable=limits.api_key_env if name == "custom" else found.key_variable,
        timeouts=_timeouts(settings),
        headers={**found.headers, **own.headers},
        effort=_effort(own),
        thinking=_thinking(settings) if name == "anthropic" else None,
        cache=settings.providers.anthropic.cache,
    )


def wish_to_think(think: bool) -> dict[str, Any]:
    """Settings, as a tree, for a run that is to think, or not to. How long, where it is asked to, is not touched."""
    if think:
        return {"defaults": {"thinking": True}}
    reasoning = [name for name in PRESETS if isinstance(provider_settings(Settings(), name), Reasoning)]
    return {"defaults": {"thinking": False}, "providers": {name: {"reasoning_effort": "none"} for name in reasoning}}


def thoughtless(found: Preset) -> str:
    """Why a wish to think has no effect; "" where it has one."""
    if found.thinking is not None or found.effort:
        return ""
    if isinstance(provider_settings(Settings(), found.name), Reasoning):
        way = f"its models go by `providers.{found.name}.reasoning_effort`, which is not set"
    else:
        way = "its model does not reason"
    return f"The wish to think has no effect with {found.name}: {way}."


def model_settings(settings: Settings, provider: str, model: str) -> ModelSettings:
    """Output limit and temperature of a model: its own, else those of its provider."""
    own = provider_settings(settings, provider)
    named = own.models.get(model, ModelSettings())
    return ModelSettings(
        temperature=own.temperature if named.temperature is None else named.temperature,
        max_output_tokens=named.max_output_tokens or own.max_output_tokens,
    )


def _timeouts(settings: Settings) -> Timeouts:
    limits = settings.llm_config
    return Timeouts(
        connect=limits.connect_timeout,
        send=limits.send_timeout,
        stall=limits.stream_stall_timeout,
        whole=limits.timeout,
    )


def _effort(own: ProviderSettings) -> str:
    """`none` is no effort that a server would know: nothing is sent."""
    effort = own.reasoning_effort if isinstance(own, Reasoning) else "none"
    return "" if effort == "none" else effort


def _thinking(settings: Settings) -> ThinkingEffort | ThinkingBudget | None:
    own = settings.providers.anthropic
    if not settings.defaults.thinking:
        return None
    return ThinkingEffort(own.thinking_effort) if own.thinking_budget is None else ThinkingBudget(own.thinking_budget)
