"""What is known of models: built in, told by their servers and kept on disk, added by the person.

Looking never waits for the network: whoever has time refreshes, and what comes of it holds from then
on. A file that cannot be read or written is no matter.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from smith_server.core.errors import AgentFailure
from smith_server.llm.presets import Preset
from smith_server.llm.pricing import spellings

UNKNOWN_WINDOW = 128_000
"""Tokens of a model of which nothing is known."""

DAY = 86_400.0
RETRY_SECONDS = 300.0
MOST_BYTES = 8 * 1024 * 1024
MOST_PLACES = 16
_FORM = 1

Size = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class Model(Struct, frozen=True, omit_defaults=True):
    """One model; what is missing is not known. Sizes in tokens.

    `abilities` are of `tools`, `images`, `reasoning`. `price` is in US dollars per million tokens, by
    `input`, `output`, `cache_write`, `cache_read`.
    """

    context_window: Size | None = None
    max_output_tokens: Size | None = None
    abilities: tuple[str, ...] = ()
    price: Mapping[str, float] = {}

    def over(self, other: "Model") -> "Model":
        """This one, with what `other` knows where it knows nothing itself."""
        return Model(*(mine or theirs for mine, theirs in zip(self._facts(), other._facts(), strict=True)))

    def _facts(self) -> tuple[Any, ...]:
        return self.context_window, self.max_output_tokens, self.abilities, self.price


class Told(Struct, frozen=True):
    """What one server said of its models, and when (seconds since 1970)."""

    at: float
    models: dict[str, Model]


class Stored(Struct, frozen=True):
    """The file on disk."""

    form: int
    places: dict[str, Told]


Ask = Callable[[], Awaitable[Mapping[str, Model]]]
"""Asks a server for its models. Raises `AgentFailure`."""


class Catalog:
    """One for a process. `folder` is where the file lies."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._file = folder / "models.json"
        self._now = now
        self._told: dict[str, Told] = {}
        self._failed: dict[str, float] = {}
        self._asked: set[str] = set()
        self._loaded = False

    async def load(self) -> None:
        """Take in what an earlier process kept, once."""
        if not self._loaded:
            self._loaded = True
            self._told = {**await asyncio.to_thread(_read, self._file), **self._told}

    def look(self, preset: Preset, model: str, more: Mapping[str, Any] | None = None) -> Model:
        """What is known of a model of a provider. `more` are entries of the person by `provider/model`."""
        told = self._told.get(place_of(preset))
        known = _entry(told.models, model) if told is not None else Model()
        return _added(more or {}, f"{preset.name}/{model}").over(known).over(_entry(_built_in(preset.name), model))

    def names(self, preset: Preset) -> tuple[str, ...]:
        """The models that the server is known to offer, sorted."""
        told = self._told.get(place_of(preset))
        return tuple(sorted(told.models)) if told is not None else ()

    def told_at(self, preset: Preset) -> float | None:
        """When its server told what it offers, in seconds since 1970; None when it never did."""
        told = self._told.get(place_of(preset))
        return told.at if told is not None else None

    def is_wanting(self, preset: Preset, model: str) -> bool:
        """Whether to ask the server: what it said is old or does not tell of `model`, and it did not just fail."""
        place, now = place_of(preset), self._now()
        if place in self._asked or now - self._failed.get(place, -RETRY_SECONDS) < RETRY_SECONDS:
            return False
        told = self._told.get(place)
        return told is None or not 0 <= now - told.at < DAY or (preset.name == "ollama" and model not in told.models)

    async def refresh(self, preset: Preset, ask: Ask) -> None:
        """Ask and keep what is said. A failure is remembered for a while, and raised as `AgentFailure` for the log."""
        place = place_of(preset)
        self._asked.add(place)
        try:
            models = dict(await ask())
        except AgentFailure:
            self._failed[place] = self._now()
            raise
        finally:
            self._asked.discard(place)
        before = self._told.get(place)
        if preset.name == "ollama" and before is not None:
            models = {**before.models, **models}
        self._told[place] = Told(self._now(), models)
        await asyncio.to_thread(_keep, self._file, place, self._told[place])


def place_of(preset: Preset) -> str:
    """Whose list it is: provider and address, without anything secret in it."""
    parts = urlsplit(preset.base_url)
    return f"{preset.name} {parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"


def _entry(models: Mapping[str, Model], name: str) -> Model:
    """The entry of a model; of the model itself where `name` is a dated version of it, or a variant (`:free`), which

    has a price of its own."""
    for each in spellings(name):
        if each in models:
            return models[each]
    kind = models.get(name.partition(":")[0])
    return msgspec.structs.replace(kind, price={}) if kind is not None else Model()


def _added(more: Mapping[str, Any], name: str) -> Model:
    try:
        return msgspec.convert(more.get(name, {}), Model)
    except msgspec.ValidationError:
        return Model()


def built_in_names(provider: str) -> tuple[str, ...]:
    """The models of a provider that are known without asking anybody."""
    return tuple(_built_in(provider))


@cache
def _built_in(provider: str) -> Mapping[str, Model]:
    data = Path(__file__).with_name("catalog.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, dict[str, Model]]).get(provider, {})


def _read(file: Path) -> dict[str, Told]:
    try:
        with file.open("rb") as source:
            data = source.read(MOST_BYTES + 1)
        stored = msgspec.json.decode(data, type=Stored) if len(data) <= MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return stored.places if stored is not None and stored.form == _FORM else {}


def _keep(file: Path, place: str, told: Told) -> None:
    """Put it beside what other processes kept meanwhile; the places that were asked last stay."""
    places = {**_read(file), place: told}
    newest = sorted(places, key=lambda each: -places[each].at)[:MOST_PLACES]
    data = msgspec.json.encode(Stored(_FORM, {each: places[each] for each in newest}))
    if len(data) > MOST_BYTES:
        return
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(number, "wb") as target:
                target.write(data)
            Path(name).replace(file)
        except OSError:
            Path(name).unlink(missing_ok=True)
