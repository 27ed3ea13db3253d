"""Reads the sources of settings: files, environment, flags. Trouble with one is told, never fatal here."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.config.merge import Layer, Merged, Problem, merge
from smith_server.config.paths import Places
from smith_server.config.schema import Approval, Providers, Settings
from smith_server.core.errors import failure

_MOST_BYTES = 1 << 20


class Loaded(Struct, frozen=True):
    """Settings ready for use. `unsafe` when something that protects the person could not be read."""

    settings: Settings
    origin: dict[str, str]
    problems: tuple[str, ...] = ()
    unsafe: bool = False


def stamp(places: Places, project: Path, explicit: Path | None = None) -> tuple[object, ...]:
    """Changes whenever a file that `load` would read does."""
    files = (explicit or places.config_file, _project_file(project))
    return tuple(_stamp(each) for file in files for each in (file, file.with_suffix(".json")))


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as problem:
        return problem.errno
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def load(
    places: Places, project: Path, environ: Mapping[str, str], flags: dict[str, Any], explicit: Path | None = None
) -> Loaded:
    """Merge all sources, lowest first: global file, project file, environment, flags.

    `explicit` replaces the global file and has to exist: raises a `schema` failure otherwise.
    """
    if explicit is not None and not _is_file(explicit):
        raise failure("schema", "config_missing", f"{explicit} does not exist or is no file.")
    problems: list[Problem] = []
    layers = [
        *_file_layers(explicit or places.config_file, problems, narrow_only=False),
        *_project_layers(places, project, problems),
        Layer("environment", from_environment(environ)),
        Layer("command line", flags),
    ]
    merged = merge(layers)
    return _settled(merged, [*problems, *merged.problems])


def _settled(merged: Merged, problems: list[Problem]) -> Loaded:
    unsafe = any(problem.guards for problem in problems)
    settings = merged.settings
    if unsafe:
        settings = msgspec.structs.replace(settings, approval=Approval())
    return Loaded(settings, merged.origin, tuple(problem.text for problem in problems), unsafe)


def _project_file(project: Path) -> Path:
    return project / ".smith" / "config.toml"


def _project_layers(places: Places, project: Path, problems: list[Problem]) -> list[Layer]:
    path = _project_file(project)
    if path.parent == places.config:
        return []
    return _file_layers(path, problems, narrow_only=True)


def _file_layers(path: Path, problems: list[Problem], *, narrow_only: bool) -> list[Layer]:
    """The layer of `config.toml`, or of `config.json` with the same keys where there is no TOML."""
    try:
        path = _there(path, problems)
        text = _read(path)
        if text is None:
            return []
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as problem:
        problems.append(Problem(f"{path} cannot be used: {problem}", guards=True))
        return []
    if not isinstance(values, dict):
        problems.append(Problem(f"{path} cannot be used: it holds no table", guards=True))
        return []
    return [Layer(str(path), values, text, narrow_only)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _there(path: Path, problems: list[Problem]) -> Path:
    twin = path.with_suffix(".json")
    if path.suffix != ".toml" or not twin.is_file():
        return path
    if not path.exists():
        return twin
    problems.append(Problem(f"{twin} is ignored: {path} is there too"))
    return path


def _read(path: Path) -> str | None:
    if not path.exists() and not path.is_symlink():
        return None
    if not path.is_file():
        raise ValueError("it is no regular file")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError("it is larger than 1 MiB")
    return path.read_bytes().decode("utf-8-sig")


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings that variables stand for; an empty variable counts as unset."""
    values: dict[str, Any] = {}
    if provider := environ.get("SMITH_PROVIDER"):
        values["defaults"] = {"provider": provider.lower()}
    if model := environ.get("SMITH_MODEL"):
        values["providers"] = {name: {"model": model} for name in provider_names()}
    return values


def provider_names() -> tuple[str, ...]:
    """The providers that have settings."""
    return tuple(field.name for field in msgspec.structs.fields(Providers))
