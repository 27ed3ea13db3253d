"""Providers at work: built once per choice, shared by all conversations of the process."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from smith_server.config.schema import Settings
from smith_server.core.errors import failure
from smith_server.core.events import Notice
from smith_server.core.ports import Emit, Provider
from smith_server.llm.http import Connections
from smith_server.llm.local import LocalModel, is_installed
from smith_server.llm.presets import host_of, is_loopback
from smith_server.llm.probe import answers
from smith_server.llm.provider import HttpProvider
from smith_server.llm.scripted import ScriptedProvider
from smith_server.runtime.models import Choice, choose_model, choose_provider, only_model


class Picked(Struct, frozen=True):
    """Provider and model of a turn. `compact`: it is a very small one; `window` is its size in tokens, 0 if unknown."""

    provider: Provider
    model: str
    compact: bool = False
    window: int = 0


class Providers:
    """Picks provider and model for a turn. What is fetched or put together for a model goes into `cache`."""

    def __init__(self, environ: Mapping[str, str], cache: Path) -> None:
        self._environ = environ
        self._local = LocalModel(cache / "gemma-3-270m.gguf", environ)
        self._connections = Connections()
        self._built: dict[tuple[str, str], tuple[Choice, HttpProvider]] = {}
        self._scripted: ScriptedProvider | None = None
        self._said: set[str] = set()

    async def pick(self, settings: Settings, asked: str, role: str, emit: Emit) -> Picked:
        """The provider and the model of a turn; says once why, when nobody named it.

        Raises `AgentFailure` that tells what to set when there is none.
        """
        if settings.defaults.provider == "scripted":
            return Picked(self._script(), asked or "script")
        choice = await self._choice(settings, emit)
        provider = self._build(choice)
        provider.ready()
        model = choose_model(asked, role, settings, choice.preset)
        if not model:
            model = only_model(await provider.models(), choice.preset.name)
        if not settings.defaults.provider and choice.why not in self._said:
            self._said.add(choice.why)
            emit(Notice(level="info", text=f"Using {model} of {choice.preset.name}: {choice.why}."))
        return Picked(provider, model, choice.preset.compact, choice.preset.window)

    async def warm(self, settings: Settings) -> None:
        """Load what requests need, and open the connection, before the first prompt waits for it.

        A server on this machine is not asked: connecting to it takes no time.
        """
        if settings.defaults.provider == "scripted":
            return
        choice = await self._choice(settings)
        await self._connections.prepare(choice.preset)
        if not is_loopback(host_of(choice.preset.base_url)):
            await self._build(choice).warm()

    async def close(self) -> None:
        """Close all connections, and end the model of our own."""
        await self._connections.close()
        await self._local.close()

    async def _choice(self, settings: Settings, emit: Emit | None = None) -> Choice:
        """The choice; the model of our own is started when it is that."""
        choice = await choose_provider(settings, self._environ, answers)
        if choice.preset.name != "local" or choice.preset.base_url:
            return choice
        if not is_installed():
            text = "The small model of smith is not installed: install smith-server with its extra `local`."
            raise failure("policy", "not_installed", text)
        if emit is not None and not self._local.is_running:
            emit(Notice(level="info", text="Starting the small model on this machine, which takes some seconds."))
        served = await self._local.served()
        here = msgspec.structs.replace(choice.preset, base_url=served.base_url)
        return msgspec.structs.replace(choice, preset=here, key=served.key)

    def _build(self, choice: Choice) -> HttpProvider:
        """One per address, so that what was encoded for it once is kept; anew when its settings change."""
        place = (choice.preset.name, choice.preset.base_url)
        known = self._built.get(place)
        if known is None or known[0] != choice:
            known = self._built[place] = (choice, HttpProvider(choice.preset, self._connections, choice.key))
        return known[1]

    def _script(self) -> ScriptedProvider:
        if self._scripted is None:
            path = self._environ.get("SMITH_SCRIPT", "")
            if not path:
                raise failure(
                    "policy", "no_script", "The provider `scripted` needs SMITH_SCRIPT, the path of a script."
                )
            self._scripted = ScriptedProvider.of_file(Path(path))
        return self._scripted
