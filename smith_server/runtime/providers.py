"""Providers at work: built once per choice, shared by all conversations of the process."""

from collections.abc import Mapping
from pathlib import Path

from smith_server.config.schema import Settings
from smith_server.core.errors import failure
from smith_server.core.events import Notice
from smith_server.core.ports import Emit, Provider
from smith_server.llm.http import HttpProvider, Limits, answers
from smith_server.llm.scripted import ScriptedProvider
from smith_server.runtime.models import Choice, choose_model, choose_provider, only_model, provider_settings


class Providers:
    """Picks provider and model for a turn."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._built: dict[tuple[object, ...], HttpProvider] = {}
        self._scripted: ScriptedProvider | None = None
        self._said: set[str] = set()

    async def pick(self, settings: Settings, asked: str, role: str, emit: Emit) -> tuple[Provider, str]:
        """The provider and the model of a turn; says once why, when nobody named it.

        Raises `AgentFailure` that tells what to set when there is none.
        """
        if settings.defaults.provider == "scripted":
            return self._script(), asked or "script"
        choice = await choose_provider(settings, self._environ, answers)
        provider = self._build(choice, settings)
        model = choose_model(asked, role, settings, choice.preset)
        if not model:
            model = only_model(await provider.models(), choice.preset.name)
        if not settings.defaults.provider and choice.why not in self._said:
            self._said.add(choice.why)
            emit(Notice(level="info", text=f"Using {model} of {choice.preset.name}: {choice.why}."))
        return provider, model

    async def warm(self, settings: Settings) -> None:
        """Open the connection to the provider before the first prompt needs it."""
        if settings.defaults.provider == "scripted":
            return
        choice = await choose_provider(settings, self._environ, answers)
        await self._build(choice, settings).warm()

    async def close(self) -> None:
        """Close all connections."""
        for provider in self._built.values():
            await provider.close()

    def _build(self, choice: Choice, settings: Settings) -> HttpProvider:
        own = provider_settings(settings, choice.preset.name)
        limits = settings.llm_config
        key = (choice.preset.name, choice.base_url, choice.key, tuple(own.headers.items()), limits)
        if key not in self._built:
            timing = Limits(limits.connect_timeout, limits.send_timeout, limits.stream_stall_timeout, limits.timeout)
            self._built[key] = HttpProvider(choice.preset, choice.base_url, choice.key, own.headers, timing)
        return self._built[key]

    def _script(self) -> ScriptedProvider:
        if self._scripted is None:
            path = self._environ.get("SMITH_SCRIPT", "")
            if not path:
                raise failure(
                    "policy", "no_script", "The provider `scripted` needs SMITH_SCRIPT, the path of a script."
                )
            self._scripted = ScriptedProvider.load(Path(path))
        return self._scripted
