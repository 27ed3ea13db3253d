"""What a provider offers: its models with their facts and prices, as it says now or as it was known before."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import Struct

from smith_server.config.schema import Settings
from smith_server.core.errors import AgentFailure
from smith_server.core.late import late
from smith_server.llm.catalog import Catalog, Model, built_in_names
from smith_server.llm.presets import Preset
from smith_server.llm.pricing import Tariff, tariff
from smith_server.llm.provider import HttpProvider

MOST_ASKED = 40
"""Of so many models of an Ollama each is asked about."""

MOST_NEAR = 5

_facts: Callable[..., Awaitable[Mapping[str, Model]]] = late("smith_server.llm.model_facts:facts")
_close: Callable[[str, Sequence[str]], list[str]] = late("difflib:get_close_matches")


class Entry(Struct, frozen=True):
    """One model: its name, what is known of it, what it costs."""

    name: str
    facts: Model
    tariff: Tariff


class Offered(Struct, frozen=True):
    """The models of a provider, sorted. `problem` says why it could not be asked, `at` (seconds since 1970) when it
    was asked last; None when it never was, so that only built-in entries are known."""

    provider: str
    models: tuple[Entry, ...]
    at: float | None = None
    problem: str = ""


class Listed(Struct, frozen=True):
    """The names of the models of a provider, as far as they are known without waiting; none where nothing is known.

    `is_whole` when it has no others.
    """

    provider: str = ""
    names: tuple[str, ...] = ()
    is_whole: bool = False

    def has(self, name: str) -> bool:
        """Whether a name may be one of them: a tag or a variant behind a colon may be left out or be there."""
        return not self.names or bool({name, name.partition(":")[0], f"{name}:latest"} & set(self.names))

    def near(self, name: str) -> Sequence[str]:
        """Those that a name may have been meant for, the nearest first."""
        inside = [each for each in self.names if name.lower() in each.lower()]
        return list(dict.fromkeys([*_close(name, self.names), *inside]))[:MOST_NEAR]


async def listed(provider: HttpProvider, catalog: Catalog, named: Sequence[str]) -> Listed:
    """What is known of the models of a provider; an Ollama is asked. `named` are those that the person's settings name,
    which count as offered."""
    preset = provider.preset
    await catalog.load()
    told = catalog.names(preset)
    if preset.name == "ollama":
        with suppress(AgentFailure):
            told = await provider.models()
    names = told or built_in_names(preset.name)
    is_whole = preset.compact or (bool(told) and preset.name != "custom")
    return Listed(preset.name, tuple(dict.fromkeys([*names, *named])) if names else (), is_whole)


async def offered(provider: HttpProvider, catalog: Catalog, settings: Settings) -> Offered:
    """Ask the provider and keep what it says; without an answer, what is known."""
    preset, problem = provider.preset, ""
    try:
        if not preset.compact:
            await _ask(provider, catalog)
    except AgentFailure as failure:
        problem = failure.error.message
    names = catalog.names(preset) or built_in_names(preset.name)
    models = tuple(_entry(name, preset, catalog, settings) for name in sorted(names))
    return Offered(preset.name, models, catalog.told_at(preset), problem)


async def _ask(provider: HttpProvider, catalog: Catalog) -> None:
    """One question, or for an Ollama one for each model that it has."""
    names = (await provider.models())[:MOST_ASKED] if provider.name == "ollama" else ("",)
    for name in names:
        await catalog.refresh(provider.preset, partial(_facts, provider.preset, name, provider.fetch))


def _entry(name: str, preset: Preset, catalog: Catalog, settings: Settings) -> Entry:
    more = settings.services.model.get("catalog")
    known = catalog.look(preset, name, more if isinstance(more, dict) else None)
    return Entry(name, known, tariff_of(settings, preset.name, name, known))


def tariff_of(settings: Settings, provider: str, model: str, known: Model) -> Tariff:
    """What a model costs, as the setting `pricing` says, else as is known of it."""
    own = {name: msgspec.to_builtins(price) for name, price in settings.pricing.items()}
    return tariff(provider, model, own, known.price)


def unpriced(name: str) -> str:
    """What to tell somebody who set a limit for a model (`provider/model`) without a known price."""
    return (
        f"The price of {name} is not known, so the limit of costs does not hold for it. "
        f'Say what it costs: `[pricing."{name}"]` with `input` and `output` in US dollars per million tokens.'
    )
