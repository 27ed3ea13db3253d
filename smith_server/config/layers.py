"""Reads the sources of settings: files, patch, environment, flags. Trouble with one is told, never fatal here."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.config import files
from smith_server.config.environment import from_environment
from smith_server.config.freeze import FrozenDict, freeze, thaw
from smith_server.config.keys import defaults
from smith_server.config.merge import Kind, Layer, Merged, Problem, merge
from smith_server.config.paths import Places
from smith_server.config.schema import Approval, Settings
from smith_server.config.trees import get, over, put
from smith_server.config.values import printable
from smith_server.core.errors import failure
from smith_server.core.late import late

PATCH = "/config set"
"""Name of the layer of what was set at run time."""
_MOST_PROBLEMS = 50
_PROTECTIONS = ("approval.deny", "approval.ask", "sandbox.enabled", "hooks.pre_tool_use")
"""What would keep something from happening. Whoever builds one takes it out."""

_is_old: Callable[[Mapping[str, Any]], bool] = late("smith_server.config.overrides:is_old")


class Sources(Struct, frozen=True):
    """Where settings come from.

    `explicit` replaces the global file. `patch` is what was set at run time, as the store keeps it.
    `ephemeral` are trees that hold for this process, by the name of who set them, lowest first.
    `editor_project` is what an editor took from a file of the project.
    """

    places: Places
    project: Path
    environ: Mapping[str, str]
    explicit: Path | None = None
    patch: Mapping[str, Any] = {}
    ephemeral: Mapping[str, Mapping[str, Any]] = {}
    editor_project: Mapping[str, Any] = {}


class Loaded(Struct, frozen=True, dict=True):
    """Settings ready for use. `unsafe` when something that protects the person could not be read.

    `origin` names the layer of each value that is set, by dotted path; what is not in it is a default.
    `set_tree` is all that is set, as a tree. `waiting` is what a project wants and has no consent for.
    """

    settings: Settings
    origin: Mapping[str, str]
    problems: tuple[str, ...] = ()
    unsafe: bool = False
    set_tree: Mapping[str, Any] = FrozenDict()
    waiting: Mapping[str, Any] = FrozenDict()

    @cached_property
    def tree(self) -> Mapping[str, Any]:
        """The effective settings as a tree, frozen; those whose default is not ours to say only when they are set."""
        effective: Mapping[str, Any] = freeze(over(defaults(), self.set_tree))
        return effective


def unenforced(loaded: Loaded) -> tuple[str, ...]:
    """A sentence for each protection that is set and that this version does not have yet."""
    return tuple(
        f"{loaded.origin[dotted]}: `{dotted}` is not enforced by this version: protect yourself otherwise"
        for dotted in _PROTECTIONS
        if loaded.origin.get(dotted) and get(loaded.tree, tuple(dotted.split(".")))
    )


def relied_on(loaded: Loaded) -> tuple[str, ...]:
    """What of `unenforced` a run with nobody there must not start without.

    In the mode `prompt` calls that rules forbid are refused anyway; a sandbox that is not there is an error in any.
    """
    is_needed = loaded.settings.approval.mode == "auto" or loaded.settings.sandbox.enabled
    return unenforced(loaded) if is_needed else ()


def load(
    places: Places, project: Path, environ: Mapping[str, str], flags: dict[str, Any], explicit: Path | None = None
) -> Loaded:
    """`read` without a patch, with flags as the highest layer."""
    return read(Sources(places, project, environ, explicit, ephemeral={"command line": flags}))


def read(sources: Sources) -> Loaded:
    """Merge all sources, lowest first: global file, project, patch, environment, ephemeral.

    A settings file that was named has to exist: raises a `schema` failure otherwise.
    """
    explicit = sources.explicit
    if explicit is not None and not _is_file(explicit):
        raise failure("schema", "config_missing", f"{explicit} does not exist or is no file.")
    problems: list[Problem] = []
    merged = merge(list(_layers(sources, problems)))
    return _settled(merged, [*problems, *merged.problems], sources.places)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def reread(sources: Sources, last: Loaded) -> Loaded:
    """`read` for a session that runs: settings that became unsafe do not replace good ones, which stay as they were.

    Deny and ask rules that can be read are added all the same.
    """
    fresh = read(sources)
    if not fresh.unsafe or last.unsafe:
        return fresh
    approval, more = last.settings.approval, fresh.settings.approval
    deny, ask = (tuple(dict.fromkeys(lists)) for lists in ((*approval.deny, *more.deny), (*approval.ask, *more.ask)))
    approval = msgspec.structs.replace(approval, deny=deny, ask=ask)
    return msgspec.structs.replace(
        last,
        settings=msgspec.structs.replace(last.settings, approval=approval),
        set_tree=freeze(over(last.set_tree, {"approval": {"deny": list(deny), "ask": list(ask)}})),
        problems=(*fresh.problems, "The settings as they were before stay in force until that is repaired."),
    )


def stamp(places: Places, project: Path, explicit: Path | None = None) -> tuple[object, ...]:
    """Changes whenever a file that `load` would read does."""
    paths = (explicit or places.config_file, _project_file(project))
    return tuple(_stamp(each) for path in paths for each in (path, path.with_suffix(".json")))


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as problem:
        return problem.errno
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _layers(sources: Sources, problems: list[Problem]) -> Iterator[Layer]:
    own = sources.explicit or sources.places.config_file
    yield from _file_layers(own, problems, "global")
    yield from _project_layers(sources, own, problems)
    yield from _patch_layers(sources.patch, problems)
    for variable, values in from_environment(sources.environ).items():
        yield Layer("environment", values, place=variable)
    for name, tree in sources.ephemeral.items():
        yield Layer(name, thaw(tree))


def _project_file(project: Path) -> Path:
    return project / ".smith" / "config.toml"


def _project_layers(sources: Sources, own: Path, problems: list[Problem]) -> Iterator[Layer]:
    path = _project_file(sources.project)
    if path != own and not _same_folder(path.parent, sources.places.config):
        yield from _file_layers(path, problems, "project")
    if sources.editor_project:
        yield Layer("the editor's settings of this project", thaw(sources.editor_project), kind="project")


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one == other or one.samefile(other)
    except OSError:
        return False


def _patch_layers(patch: Mapping[str, Any], problems: list[Problem]) -> Iterator[Layer]:
    if patch and _is_old(patch):
        text = f"{PATCH}: what an older version stored is ignored; set again what you need, and it is gone."
        problems.append(Problem(text))
    elif patch:
        yield Layer(PATCH, thaw(patch), kind="patch")


def _file_layers(path: Path, problems: list[Problem], kind: Kind) -> Iterator[Layer]:
    """The layer of `config.toml`, or of `config.json` with the same keys where there is no TOML."""
    twin = path.with_suffix(".json")
    if path.suffix == ".toml" and os.path.lexists(twin):
        if os.path.lexists(path):
            problems.append(Problem(f"{twin} is ignored: {path} is there too"))
        else:
            path = twin
    content = files.read(path)
    if content is not None and content.problem:
        problems.append(Problem(content.problem, guards=True))
    if content is not None:
        yield Layer(str(path), content.values, content.text, kind)


def _settled(merged: Merged, problems: list[Problem], places: Places) -> Loaded:
    tree = merged.tree
    problems += [*_without_prices(tree, merged.origin), *_older(merged.origin)]
    unsafe = any(problem.guards for problem in problems)
    if unsafe:
        for name in ("mode", "allow", "allowlist"):
            tree.get("approval", {}).pop(name, None)
            merged.origin.pop(f"approval.{name}", None)
    if get(tree, ("approval", "protected")) is None:
        put(tree, ("approval", "protected"), [*Approval().protected, f"{_as_pattern(places.config)}/**"])
    settings = msgspec.convert(_for_use(tree), Settings)
    texts = [problem.text for problem in problems]
    if len(texts) > _MOST_PROBLEMS:
        texts[_MOST_PROBLEMS:] = [f"{len(texts) - _MOST_PROBLEMS} more settings cannot be used."]
    return Loaded(settings, freeze(merged.origin), tuple(texts), unsafe, freeze(tree), freeze(merged.waiting))


def _without_prices(tree: dict[str, Any], origin: dict[str, str]) -> Iterator[Problem]:
    """Take out prices that are not complete."""
    prices: dict[str, Any] = tree.get("pricing", {})
    for name in [name for name, price in prices.items() if not {"input", "output"} <= price.keys()]:
        places = {origin.pop(f"pricing.{name}.{part}") for part in prices.pop(name)}
        text = (
            f"{', '.join(sorted(places))}: `pricing.{printable(name)}` is ignored: a price needs `input` and `output`"
        )
        yield Problem(text)


def _older(origin: Mapping[str, str]) -> Iterator[Problem]:
    if place := origin.get("approval.allowlist"):
        text = "`approval.allowlist` is an older spelling; write its entries as `bash(…)` in `approval.allow`"
        yield Problem(f"{place}: {text}")


def _for_use(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree with older spellings where their readers look for them."""
    used = over(tree, {})
    allowed = [f"bash({entry.strip()})" for entry in get(tree, ("approval", "allowlist"), []) if entry.strip()]
    used = over(used, {"approval": {"allow": [*get(tree, ("approval", "allow"), []), *allowed]}})
    model = get(tree, ("providers", "custom", "model"))
    return over(used, {"llm_config": {"model": model}}) if model else used


def _as_pattern(path: Path) -> str:
    """A path as a pattern that matches it alone."""
    return "".join(f"[{char}]" if char in "*?[{" else char for char in str(path))
