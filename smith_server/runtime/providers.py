"""Providers at work: built once per choice, shared by all conversations of the process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from smith_server.config.schema import Settings
from smith_server.config.trees import get
from smith_server.core.errors import AgentFailure, failure
from smith_server.core.events import Notice
from smith_server.core.late import late
from smith_server.core.ports import Emit, Provider
from smith_server.llm.catalog import Ask, Catalog, Model, built_in_names
from smith_server.llm.http import Connections
from smith_server.llm.local import WEIGHTS, LocalModel, Served
from smith_server.llm.presets import PRESETS, Preset, host_of, is_loopback
from smith_server.llm.pricing import Tariff
from smith_server.llm.provider import HttpProvider
from smith_server.policy.roles import Role
from smith_server.runtime.configured import configured, thoughtless
from smith_server.runtime.key_command import KeyCommands
from smith_server.runtime.models import BUILT_IN, Asked, Selected, installed, provider_settings, select_model
from smith_server.runtime.offer import ServerOffer
from smith_server.runtime.offered import Listed, Offered, listed, offered, tariff_of, unpriced
from smith_server.runtime.options import Options
from smith_server.runtime.provider_choice import Choice, Surroundings, choose_provider

MOST_OUTPUT = 32_000
"""Tokens of one answer that are enough for anything where nobody said how many."""

STARTING = "Starting the small model on this machine, which takes some seconds."

_REFRESH_SECONDS = 0.3
"""So much later models are asked about: the first request of a start is not made to wait for that."""

log = logging.getLogger(__name__)

_answers: Callable[[str], Awaitable[bool]] = late("smith_server.llm.probe:answers")
_facts: Callable[..., Awaitable[Mapping[str, Model]]] = late("smith_server.llm.model_facts:facts")
_scripted: Callable[[Path], Provider] = late("smith_server.llm.scripted:ScriptedProvider.of_file")


class Wish(Struct, frozen=True):
    """What a turn needs a model for: its settings, what came with the prompt, the role.

    `written` are the settings without what was said for this process alone, see `Configuration.written`.
    """

    settings: Settings
    asked: Asked
    role: Role
    written: Callable[[], Sequence[Settings]] = tuple


class Picked(Struct, frozen=True):
    """A provider ready for requests, and the model to name in them.

    `compact`: it is a very small one. `images`: it takes pictures, as far as is known. `output_limit` is
    what to ask for at most where nothing is set and the protocol wants a number. `secret` is its key under
    the name of the variable that it could be in, for those who blank keys. `tariff` is what requests cost.
    """

    provider: Provider
    selected: Selected
    compact: bool = False
    images: bool = True
    output_limit: int | None = None
    secret: Mapping[str, str] = {}
    tariff: Tariff = Tariff()


class Providers:
    """The service `model`: picks provider and model for a turn."""

    def __init__(self, options: Options) -> None:
        self._environ = options.environ
        self._is_to_think = get(options.flags, ("defaults", "thinking")) is True
        self._around = Surroundings(options.environ, _answers, options.settings_file)
        self._connections = Connections()
        self._local = LocalModel(options.places.cache_folder / WEIGHTS, options.environ)
        self._catalog = Catalog(options.places.cache_folder)
        self._built: dict[tuple[str, str], tuple[Choice, HttpProvider]] = {}
        self._scripted: Provider | None = None
        self._keys = KeyCommands()
        self._said: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def pick(self, wish: Wish, emit: Emit) -> Picked:
        """The provider and the model of a turn; says once why, when nobody named it.

        Raises `AgentFailure` that tells what to set when there is none.
        """
        settings = wish.settings
        if settings.defaults.provider == "scripted":
            selected = Selected(wish.asked.model or "script", "request.model")
            return Picked(self._script(), selected, tariff=tariff_of(settings, "scripted", selected.model, Model()))
        choice = await self._choice(settings, emit)
        provider = self._build(choice)
        provider.ready()
        await self._catalog.load()
        offer = ServerOffer(choice.preset, provider, self._catalog, settings, partial(self._levels, wish))
        selected = await select_model(wish.asked, wish.role, settings, offer, self._around.file)
        if choice.preset.name == "ollama" and selected.source == BUILT_IN:
            selected = await self._pulled(selected, offer, provider, emit)
        for text in offer.passed_over(selected.model):
            self._say(text, emit)
        if not settings.defaults.provider:
            self._say(f"Using {selected.model} of {choice.preset.name}: {choice.why}.", emit, choice.why)
        if self._is_to_think and (text := thoughtless(choice.preset)):
            self._say(text, emit, level="warning")
        self._refresh(choice, provider, selected.model)
        known = selected.max_output_tokens if choice.preset.dialect == "anthropic" else None
        facts_of = offer.look(selected.model)
        images = not facts_of.abilities or "images" in facts_of.abilities
        costs = tariff_of(settings, choice.preset.name, selected.model, facts_of)
        if settings.max_budget_usd is not None and costs.price is None and not choice.preset.compat.tells_cost:
            self._say(unpriced(f"{choice.preset.name}/{selected.model}"), emit, level="warning")
        limit = min(known, MOST_OUTPUT) if known else None
        variable = choice.preset.key_variable
        secret = {variable: choice.key} if variable else {}
        return Picked(provider, selected, choice.preset.compact, images, limit, secret, costs)

    def known(self, settings: Settings) -> Sequence[str]:
        """For completion: the models that the settings name, and those that the providers in use are known to offer."""
        named = _named(settings)
        presets = {choice.preset.name: choice.preset for choice, _ in self._built.values()}
        settled = self._around.settled(settings)
        if settled in PRESETS and settled not in presets:
            with suppress(AgentFailure):
                presets[settled] = configured(settled, settings, self._around.file)
        for preset in presets.values():
            named += self._catalog.names(preset) or built_in_names(preset.name)
        return sorted({name for name in named if name})

    async def offered(self, settings: Settings) -> Offered:
        """What the provider of the next turn offers; it is asked now. Raises `AgentFailure` when there is none."""
        if settings.defaults.provider == "scripted":
            return Offered("scripted", ())
        choice = await choose_provider(settings, self._around)
        if not choice.preset.compact:
            choice = await self._choice(settings)
        await self._catalog.load()
        return await offered(self._build(choice), self._catalog, settings)

    async def listed(self, settings: Settings) -> Listed:
        """The names of the models of the provider of the next turn, as far as they are known at once."""
        if settings.defaults.provider == "scripted":
            return Listed("scripted")
        try:
            choice = await choose_provider(settings, self._around)
        except AgentFailure:
            return Listed()
        return await listed(self._build(choice), self._catalog, [name for name in _named(settings) if name])

    async def chosen(self, settings: Settings) -> str:
        """The name of the provider of the next turn, "" when there is none yet."""
        if settings.defaults.provider:
            return settings.defaults.provider
        try:
            return (await choose_provider(settings, self._around)).preset.name
        except AgentFailure:
            return ""

    async def lacking(self, settings: Settings) -> str:
        """What to do before anything can answer, "" when all is set up as far as this machine can tell.

        No server but one on this machine is asked, and no command for a key is run.
        """
        try:
            if settings.defaults.provider == "scripted":
                self._script()
                return ""
            choice = await choose_provider(settings, self._around)
            self._require_installed(choice)
            if not choice.preset.compact and not provider_settings(settings, choice.preset.name).api_key_command:
                self._build(choice).ready()
        except AgentFailure as problem:
            return problem.error.message
        return ""

    async def warm(self, settings: Settings, emit: Emit) -> None:
        """Load what requests need, and open the connection, before the first prompt waits for it.

        What is started on this machine for that, and takes a while, is told to `emit`.
        A server on this machine is not asked: connecting to it takes no time.
        """
        if settings.defaults.provider == "scripted":
            return
        choice = await self._choice(settings, emit)
        await self._connections.prepare(choice.preset)
        await self._catalog.load()
        if not is_loopback(host_of(choice.preset.base_url)):
            provider = self._build(choice)
            await provider.warm()
            self._refresh(choice, provider, choice.preset.default_model)

    async def close(self) -> None:
        """Close all connections, and end the model of our own."""
        for task in list(self._tasks):
            task.cancel()
        await self._connections.close()
        await self._local.close()

    async def _choice(self, settings: Settings, emit: Emit | None = None) -> Choice:
        """The choice, with the key that a command prints; the model of our own is started when it is that."""
        choice = await choose_provider(settings, self._around)
        command = provider_settings(settings, choice.preset.name).api_key_command
        if command and not choice.key:
            key = await self._keys.key(command, choice.preset.name)
            return msgspec.structs.replace(choice, key=key)
        if choice.preset.name != "local" or choice.preset.base_url:
            return choice
        self._require_installed(choice)
        served = await self._served(emit)
        here = msgspec.structs.replace(choice.preset, base_url=served.base_url)
        return msgspec.structs.replace(choice, preset=here, key=served.key)

    async def _served(self, emit: Emit | None) -> Served:
        """The model of our own; once per start it is told that it starts."""
        try:
            if emit is not None and not self._local.is_running:
                self._say(STARTING, emit)
            return await self._local.served()
        finally:
            self._said.discard(STARTING)

    def _require_installed(self, choice: Choice) -> None:
        if choice.preset.name == "local" and not choice.preset.base_url and not self._around.has_local():
            text = "The small model of smith is not installed: install smith-server with its extra `local`."
            raise failure("policy", "not_installed", text)

    def _levels(self, wish: Wish) -> Sequence[tuple[Settings, str]]:
        """Each level of settings with the provider that it chooses."""
        return [(level, self._around.settled(level)) for level in wish.written()]

    async def _pulled(self, selected: Selected, offer: ServerOffer, provider: HttpProvider, emit: Emit) -> Selected:
        """The built-in model of an Ollama, or what there is instead; said once."""
        model = await installed(selected, provider.models)
        if model == selected.model:
            return selected
        self._say(f"Using {model}, which this Ollama has: {selected.model} was not pulled.", emit)
        return msgspec.structs.replace(offer.selected(model), source="installed")

    def _say(self, text: str, emit: Emit, about: str = "", level: Literal["info", "warning"] = "info") -> None:
        """A sentence for the person, once about the same."""
        if (about or text) not in self._said:
            self._said.add(about or text)
            emit(Notice(level=level, text=text))

    def _refresh(self, choice: Choice, provider: HttpProvider, model: str) -> None:
        """Ask the server in the background what it knows of its models; the next turn goes by it."""
        preset = choice.preset
        if preset.compact or not self._catalog.is_wanting(preset, model):
            return
        ask = partial(_facts, preset, model, provider.fetch)
        task = asyncio.create_task(self._refreshed(preset, ask), name="catalog")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refreshed(self, preset: Preset, ask: Ask) -> None:
        await asyncio.sleep(_REFRESH_SECONDS)
        try:
            await self._catalog.refresh(preset, ask)
        except AgentFailure as problem:
            log.info("the models of %s are not known: %s", preset.name, problem)

    def _build(self, choice: Choice) -> HttpProvider:
        """One per address, so that what was encoded for it once is kept; anew when its settings change."""
        place = (choice.preset.name, choice.preset.base_url)
        known = self._built.get(place)
        if known is None or known[0] != choice:
            known = self._built[place] = (choice, HttpProvider(choice.preset, self._connections, choice.key))
        return known[1]

    def _script(self) -> Provider:
        if self._scripted is None:
            path = self._environ.get("SMITH_SCRIPT", "")
            if not path:
                raise failure(
                    "policy", "no_script", "The provider `scripted` needs SMITH_SCRIPT, the path of a script."
                )
            self._scripted = _scripted(Path(path))
        return self._scripted


def _named(settings: Settings) -> list[str]:
    """The models that the settings name; "" where they name none."""
    named = [*settings.models.values(), settings.default_model]
    return named + [provider_settings(settings, name).model for name in PRESETS]
