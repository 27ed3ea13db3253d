"""What a server offers, as the choice of a model sees it: names, facts, and which settings were made for it."""

from collections.abc import Callable, Sequence
from functools import cached_property

from smith_server.config.schema import Settings
from smith_server.llm.catalog import UNKNOWN_WINDOW, Catalog, Model
from smith_server.llm.presets import Preset
from smith_server.llm.provider import HttpProvider
from smith_server.runtime.models import Selected, provider_settings

Levels = Callable[[], Sequence[tuple[Settings, str]]]
"""Settings as lower layers alone make them, lowest first, each with the provider that it chooses ("" for none)."""

_UNNAMED = ("ollama", "local")


class ServerOffer:
    """An `Offer`. `settings` are those of the turn, `levels` tells what was set before this provider was chosen."""

    def __init__(
        self, preset: Preset, provider: HttpProvider, catalog: Catalog, settings: Settings, levels: Levels
    ) -> None:
        self.preset = preset
        self._provider = provider
        self._catalog = catalog
        self._settings = settings
        self._ask_levels = levels
        self._passed: list[tuple[str, str, str]] = []

    @cached_property
    def _levels(self) -> Sequence[tuple[Settings, str]]:
        return self._ask_levels()

    async def names(self) -> Sequence[str]:
        """All models: as the catalog has them, else as the server says now. Raises `AgentFailure`."""
        return self._catalog.names(self.preset) or await self._provider.models()

    def look(self, model: str) -> Model:
        """The facts of one; `services.model.catalog` adds to them."""
        more = self._settings.services.model.get("catalog")
        return self._catalog.look(self.preset, model, more if isinstance(more, dict) else None)

    def selected(self, model: str) -> Selected:
        """A model of this server that no setting named."""
        known = self.look(model)
        return Selected(model, "", None, known.context_window or UNKNOWN_WINDOW, known.max_output_tokens)

    def is_meant(self, path: str) -> bool:
        """Whether a setting was made when this provider was the chosen one: a provider that is named for once

        (`-p`, SMITH_PROVIDER) does not get the models that were set for another.
        """
        value = _at(self._settings, path)
        for depth, (level, chosen) in enumerate(self._levels):
            if _at(level, path) != value:
                continue
            own = path.startswith("providers.") and depth == 0
            if own or chosen == self.preset.name or (not chosen and self.preset.name in _UNNAMED):
                return True
            self._passed.append((path, value, chosen))
            return False
        return True

    def passed_over(self, model: str) -> Sequence[str]:
        """Sentences about the settings that were not followed."""
        return [
            f"Using {model} with {self.preset.name}: `{path}` ({value}) was set for {chosen or 'another provider'}."
            for path, value, chosen in self._passed
        ]


def _at(settings: Settings, path: str) -> str:
    """The model at a dotted path; the keys of `models` may hold dots."""
    table, _, rest = path.partition(".")
    match table:
        case "models":
            return settings.models.get(rest, "")
        case "providers":
            return provider_settings(settings, rest.partition(".")[0]).model
    return settings.default_model
