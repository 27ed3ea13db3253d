"""Which model: eight ordered steps, each looked at only if the one before was silent."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from smith_server.config.schema import ProviderSettings, Settings
from smith_server.core.errors import AgentFailure, failure
from smith_server.llm.catalog import UNKNOWN_WINDOW, Model
from smith_server.llm.presets import Preset
from smith_server.policy.roles import Role


class Asked(Struct, frozen=True):
    """What came with a prompt: a model, or a key of the setting `models`; "" for neither.

    `provider` is the one that `model` was chosen for, "" for whichever there is.
    """

    model: str = ""
    model_key: str = ""
    provider: str = ""


NOTHING_ASKED = Asked()


class Selected(Struct, frozen=True):
    """The model of a turn and what fits into it, in tokens. `source` and `key` tell which step named it."""

    model: str
    source: str
    key: str | None = None
    context_window: int = UNKNOWN_WINDOW
    max_output_tokens: int | None = None


class Offer(Protocol):
    """What is known of the models of the provider that was chosen."""

    preset: Preset

    async def names(self) -> Sequence[str]:
        """All of them; may ask the server."""
        ...

    def look(self, model: str) -> Model:
        """The facts of one."""
        ...

    def is_meant(self, path: str) -> bool:
        """Whether the setting at this dotted path was made for this provider; it is not sent to another one."""
        ...


async def select_model(asked: Asked, role: Role, settings: Settings, offer: Offer, file: Path) -> Selected:
    """The model of a turn.

    Order: 1 asked for with the prompt; 2 `models` by its key; 3 the role's own; 4 `models` by role;
    5 `models` by the role's key; 6 `default_model`; 7 the setting of the provider, then what is built
    in for it; 8 the only one that its server offers. Raises a `policy` failure `no_model` that names
    the settings and the `file` they belong in.
    """
    found = next(_steps(asked, role, settings, offer), None)
    if found is None:
        found = _only(await offer.names(), offer.preset.name, file)
    model, source, key = found
    known = offer.look(model)
    return Selected(model, source, key, known.context_window or UNKNOWN_WINDOW, known.max_output_tokens)


_Found = tuple[str, str, str | None]


def _steps(asked: Asked, role: Role, settings: Settings, offer: Offer) -> Iterator[_Found]:
    """The steps that say something, one at a time."""

    def keyed(key: str) -> str:
        model = settings.models.get(key, "") if key else ""
        return model if model and offer.is_meant(f"models.{key}") else ""

    if asked.model and asked.provider in ("", offer.preset.name):
        yield asked.model, "request.model", None
    if model := keyed(asked.model_key):
        yield model, "request.model_key", asked.model_key
    if role.model:
        yield role.model, "role.model", None
    if model := keyed(role.name):
        yield model, "models.role", role.name
    if model := keyed(role.model_key):
        yield model, "models.default_key", role.model_key
    if settings.default_model and offer.is_meant("default_model"):
        yield settings.default_model, "config.default_model", None
    yield from _of_provider(settings, offer)


def _of_provider(settings: Settings, offer: Offer) -> Iterator[_Found]:
    path = f"providers.{offer.preset.name}.model"
    model = provider_settings(settings, offer.preset.name).model
    if model and offer.is_meant(path):
        yield model, path, None
    if offer.preset.default_model:
        yield offer.preset.default_model, BUILT_IN, None


BUILT_IN = "built-in"
"""The source of a model that nobody set."""


def provider_settings(settings: Settings, name: str) -> ProviderSettings:
    """The table `providers.<name>`."""
    own: ProviderSettings = getattr(settings.providers, name)
    return own


async def installed(selected: Selected, names: Callable[[], Awaitable[Sequence[str]]]) -> str:
    """The model to use of an Ollama: the built-in one if it was pulled, else the first that was.

    Raises a `policy` failure `no_model` when none was. One that cannot tell is taken at its word.
    """
    try:
        there = await names()
    except AgentFailure:
        return selected.model
    if selected.model in there or f"{selected.model}:latest" in there:
        return selected.model
    if not there:
        text = f"This Ollama has no model yet. Get one: `ollama pull {selected.model}`."
        raise failure("policy", "no_model", text)
    return there[0]


def _only(names: Sequence[str], provider: str, file: Path) -> _Found:
    """The one model that a server offers."""
    if len(names) == 1:
        return names[0], "catalog", None
    some = f" It offers: {', '.join(names[:10])}{' …' if len(names) > 10 else ''}." if names else ""
    raise failure(
        "policy",
        "no_model",
        f"No model is set for the provider {provider}: set `providers.{provider}.model` or `default_model` in {file},"
        f" or SMITH_MODEL, or use -m.{some}",
    )
