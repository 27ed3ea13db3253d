"""`/config`: shows the settings with where they come from, and changes those that may change at run time."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from smith_server.config import overrides, secrets
from smith_server.config.keys import ANY_NAME, Key, all_keys, choices, key_at
from smith_server.config.layers import PATCH, Loaded
from smith_server.config.spellings import meant
from smith_server.config.trees import find, get, leaves
from smith_server.config.values import printable
from smith_server.core.errors import failure
from smith_server.runtime.commands import settings
from smith_server.runtime.commands.result import Result

USAGE = "usage: /config [get <path> | set <path> <value> | unset <path>]"
SUBCOMMANDS = ("get", "set", "unset")


class Work(Protocol):
    """The conversation that the command was typed in."""

    @property
    def root(self) -> Path: ...

    @property
    def busy(self) -> bool: ...


class Configured(Protocol):
    """Who holds the settings of a project and the patch of what was changed at run time. `file` is where the person's
    own settings belong."""

    @property
    def file(self) -> Path: ...

    def loaded(self, root: Path) -> Loaded:
        """The settings as the next turn of that project sees them, the patch included."""

    async def overrides(self) -> Mapping[str, Any]:
        """The patch as it is stored."""

    async def override(self, patch: Mapping[str, Any]) -> None:
        """Store the patch; the next `loaded` has it."""


async def config(rest: str, session: Work, services: Configured) -> Result:
    """Show everything, or get, set or unset one setting. Raises a `schema` failure for what cannot be."""
    word, argument = _cut(rest)
    if not word:
        return _everything(services.loaded(session.root), await services.overrides())
    path, value = _cut(argument)
    if word not in SUBCOMMANDS or not path or (word == "set") != bool(value):
        raise failure("schema", "invalid_arguments", USAGE)
    if word == "get":
        return _get(path, services.loaded(session.root))
    overrides.known(path, str(services.file))
    if session.busy:
        raise failure("policy", "turn_active", "A turn is running. Cancel it first.")
    if word == "set":
        return await _set(path, value, session.root, services)
    return await _unset(path, session.root, services)


def _cut(text: str) -> tuple[str, str]:
    """The first word, and the rest as it was typed."""
    word, *rest = text.strip().split(maxsplit=1) or [""]
    return word, rest[0] if rest else ""


async def _set(path: str, text: str, root: Path, services: Configured) -> Result:
    value = overrides.valid(path, overrides.typed(text))
    await services.override(overrides.with_value(await services.overrides(), path, value))
    loaded = services.loaded(root)
    told = secrets.shown(overrides.split(path), value)
    lines = [f"{path} = {settings.told(told)}, from the next turn on.", *overrides.shadows(path, PATCH, loaded)]
    lines += ["Nothing in this version reads it."] if settings.is_unread(overrides.split(path)) else []
    return Result("\n".join(lines), {"path": path, "value": told})


async def _unset(path: str, root: Path, services: Configured) -> Result:
    patch = await services.overrides()
    if get(patch, overrides.split(path)) is None:
        return Result(f"{path} is not set with /config.", {"path": path})
    await services.override(overrides.without(patch, path))
    return Result(f"{path} is unset. {_standing(path, services.loaded(root))}", {"path": path})


def _get(path: str, loaded: Loaded) -> Result:
    place = meant(find(loaded.tree, path) or overrides.split(path))
    value = get(loaded.tree, place)
    if value is None and key_at(place) is None:
        raise failure("schema", "unknown_setting", f"There is no setting `{printable(path)}`. /config lists them.")
    return Result(_standing(".".join(place), loaded), {"path": path, "value": secrets.shown(place, value)})


def _standing(path: str, loaded: Loaded) -> str:
    """One setting and where it comes from, those of a table, or what holds instead."""
    place = find(loaded.tree, path) or overrides.split(path)
    value = get(loaded.tree, place)
    if value is not None:
        below = [place] if not isinstance(value, Mapping) else [(*place, *path) for path, _ in leaves(value)]
        return "\n".join(_with_origin(each, loaded) for each in below)
    key = key_at(place)
    holds = f" {settings.told(key.default)} holds." if key is not None and isinstance(key.default, int | float) else ""
    return f"{path} is not set.{holds}"


def _with_origin(place: tuple[str, ...], loaded: Loaded) -> str:
    origin = settings.origin(".".join(place), loaded)
    said = f"{origin}; {settings.UNREAD}" if settings.is_unread(place) else origin
    return f"{settings.assigned(place, get(loaded.tree, place))} ({said})"


def _everything(loaded: Loaded, patch: Mapping[str, Any]) -> Result:
    changed = {path: secrets.shown(overrides.split(path), value) for path, value in overrides.values_of(patch)}
    data = {
        "settings": {".".join(path): secrets.shown(path, value) for path, value in leaves(loaded.tree)},
        "origin": dict(loaded.origin),
        "overrides": changed,
        "problems": list(loaded.problems),
    }
    return Result(data=data, page=settings.page(loaded, changed), title="Settings", format="toml")


def candidates(words: Sequence[str], loaded: Loaded, models: Sequence[str], patch: Mapping[str, Any]) -> Sequence[str]:
    """What may stand in place of the last of the `words` that follow `/config`, shortest first.

    `models` are the ids that are known now; nothing here waits for a network.
    """
    match list(words[:-1]):
        case []:
            found: Sequence[str] = SUBCOMMANDS
        case ["get"]:
            found = [*map(".".join, (path for path, _ in leaves(loaded.tree))), *_readable()]
        case ["set"]:
            found = overrides.overridable_paths(loaded.tree)
        case ["unset"]:
            found = [path for path, _ in overrides.values_of(patch)]
        case ["set", path] if overrides.is_overridable_path(path):
            found = _values(key_at(overrides.split(path)), models)
        case _:
            found = ()
    beginning = words[-1] if words else ""
    return sorted({each for each in found if each.startswith(beginning)}, key=lambda each: (len(each), each))


def _readable() -> Iterator[str]:
    return (key.dotted for key in all_keys() if ANY_NAME not in key.path)


def _values(key: Key | None, models: Sequence[str]) -> Sequence[str]:
    assert key is not None, "what may be overridden is in the schema"
    return models if key.rule.name == "model" else choices(key)
