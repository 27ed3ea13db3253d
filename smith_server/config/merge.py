"""Layers become one tree: each value is checked alone, then put over what the layers below say.

A bad value costs itself: the next lower layer holds, and the person is told where it is.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from msgspec import NODEFAULT, Struct

from smith_server.config.keys import OTHER_ROOT, ROOT, Key, Path, all_keys
from smith_server.config.schema.field import ADDS, GLOBAL
from smith_server.config.spellings import SERVICES, Written, written
from smith_server.config.trees import get, put
from smith_server.config.values import BadValue, checked, elements, printable
from smith_server.core.late import late

if TYPE_CHECKING:
    from smith_server.config.lines import Lines

_GUARDING = ("approval", "hooks", "sandbox")
_GUARDING_NAMES = ("approval", "sandbox")
"""Tables in which a name that nobody knows may be a misspelled protection; other programs have more hooks."""
_MOST_HINTS = 20
_ASKS = "a project may not set it without your consent"

_lines: "Callable[[str], Lines]" = late("smith_server.config.lines:Lines")
_is_overridable: Callable[[str], bool] = late("smith_server.config.overrides:is_overridable_path")
_close_matches: Callable[..., list[str]] = late("difflib:get_close_matches")

Kind = Literal["global", "project", "patch", "other"]


class Layer(Struct, frozen=True):
    """One source of settings: its name for people, a sparse tree of values, and its text for line numbers.

    Of a `project` only what narrows is taken, of a `patch` only what may be overridden at run time;
    some keys are taken from the `global` file alone. `place` is where in the source all of it stands.
    """

    name: str
    values: dict[str, Any]
    text: str = ""
    kind: Kind = "other"
    place: str = ""


class Problem(Struct, frozen=True):
    """Something wrong in a layer; `guards` when it stands where the person is protected."""

    text: str
    guards: bool = False


class Merged(Struct, frozen=True):
    """The tree of all that is set, which layer each value came from (by dotted path), and what was wrong.

    `waiting` are the values that a project wants and that nobody consented to, by dotted path.
    """

    tree: dict[str, Any]
    origin: dict[str, str]
    problems: tuple[Problem, ...]
    waiting: dict[str, Any]


def merge(layers: Sequence[Layer]) -> Merged:
    """Merge `layers`, lowest first. Tables merge by key, lists that protect add up, everything else replaces."""
    merged = Merged({}, {}, (), {})
    problems: list[Problem] = []
    for layer in layers:
        problems += _Entry(layer, merged).take()
    return Merged(merged.tree, merged.origin, tuple(problems), merged.waiting)


class _Taken(Struct, frozen=True):
    """A value that passed its check: its key, where it is written, what is kept."""

    key: Key
    at: Path
    value: Any


class _Entry:
    """One layer on its way into the tree."""

    def __init__(self, layer: Layer, below: Merged) -> None:
        self._layer = layer
        self._below = below
        self._problems: list[Problem] = []
        self._hints = _MOST_HINTS
        self._models = set(_models(below.tree)) if layer.kind == "project" else set[str]()

    @cached_property
    def _lines(self) -> "Lines":
        """Made when something is wrong."""
        return _lines(self._layer.text)

    def take(self) -> list[Problem]:
        """Put in what can be used; the problems with the rest."""
        found: dict[Path, _Taken] = {}
        for each in written(self._without_doubles()):
            if (taken := self._taken(each)) is not None:
                path = taken.key.path
                found[path] = self._stricter(found[path], taken) if path in found else taken
        for taken in found.values():
            self._put(taken)
        return self._problems

    def _taken(self, each: Written) -> _Taken | None:
        if each.key is None or each.means is None:
            self._tell(each.at, self._unknown(each.at), guards=each.at[0] in _GUARDING_NAMES)
            return None
        if ADDS in each.key.marks:
            good, wrong = elements(each.key, each.value)
            for text in wrong:
                self._tell(each.at, f"{_spelled(each.at)} {text}", guards=True)
            return _Taken(each.means, each.at, good)
        try:
            value = checked(each.key, each.value)
        except BadValue as problem:
            guards = each.means.path[0] in _GUARDING
            self._tell(each.at, f"{_spelled(each.at)} {problem}{self._holds(each.means)}", guards)
            return None
        return _Taken(each.means, each.at, value if each.factor == 1 else _times(value, each.factor))

    def _put(self, taken: _Taken) -> None:
        key, value, name = taken.key, taken.value, self._layer.name
        if refusal := self._refusal(key, value):
            if refusal is _ASKS:
                self._below.waiting[key.dotted] = value
            self._tell(taken.at, f"{_spelled(taken.at)} is ignored: {refusal}", guards=False)
            return
        tree, origin, dotted = self._below.tree, self._below.origin, key.dotted
        if ADDS in key.marks:
            held = get(tree, key.path, [])
            value = held + [member for member in value if member not in held]
            name = f"{origin[dotted]} + {name}" if dotted in origin else name
        put(tree, key.path, value)
        origin[dotted] = name

    def _refusal(self, key: Key, value: Any) -> str:
        """Why this layer may not set that; "" when it may."""
        if GLOBAL in key.marks and self._layer.kind != "global":
            return "it is taken from your own settings file only"
        if self._layer.kind == "patch" and not _is_overridable(key.dotted):
            return "it cannot be changed at run time"
        if self._layer.kind != "project" or self._narrows(key, value):
            return ""
        return "a project may not set it" if key.rule.name == "never" else _ASKS

    def _narrows(self, key: Key, value: Any) -> bool:
        match key.rule.name:
            case "free":
                return True
            case "only":
                return bool(value == key.rule.value)
            case "model":
                return value in self._models
            case "lower":
                below = get(self._below.tree, key.path, None if key.default is NODEFAULT else key.default)
                return below is None or value <= below
            case _:
                return False

    def _stricter(self, one: _Taken, other: _Taken) -> _Taken:
        """Of two spellings of one setting the lower number, else the one under the setting's own name."""
        if one.value == other.value:
            return one
        if isinstance(one.value, int | float):
            held = min(one, other, key=lambda each: each.value)
        else:
            held = one if one.at == one.key.path else other
        text = f"{_spelled(one.at)} and {_spelled(other.at)} mean the same and differ; {_spelled(held.at)} holds"
        self._tell(other.at, text, guards=False)
        return held

    def _without_doubles(self) -> dict[str, Any]:
        """The tree without tables at the top that stand under `services` too."""
        values = self._layer.values
        services = values.get("services")
        named = services if isinstance(services, dict) else {}
        doubles = [name for name in SERVICES if name in named and isinstance(values.get(name), dict)]
        for name in doubles:
            if values[name] != named[name]:
                self._tell((name,), f"`{name}` and `services.{name}` differ; `services.{name}` holds", guards=False)
        return {name: value for name, value in values.items() if name not in doubles}

    def _unknown(self, at: Path) -> str:
        text = f"there is no setting {_spelled(at)}"
        if at[-1].lower().endswith(("api_key", "token", "secret", "password")):
            return f"{text}; keys are read from the environment only"
        self._hints -= 1
        near = _close_matches(".".join(at)[:80], _known(), 1) if self._hints >= 0 else []
        return f"{text}; did you mean `{near[0]}`?" if near else text

    def _holds(self, key: Key) -> str:
        origin = self._below.origin.get(key.dotted)
        return f"; that of {origin} holds" if origin else "; the default holds"

    def _tell(self, at: Path, text: str, guards: bool) -> None:
        where = f" {self._layer.place}" if self._layer.place else self._lines.suffix(at)
        self._problems.append(Problem(f"{self._layer.name}{where}: {text}", guards))


def _times(value: float, factor: float) -> float:
    exact = round(value * factor, 6)
    return int(exact) if exact == int(exact) else exact


def _spelled(at: Path) -> str:
    return f"`{printable('.'.join(at))}`"


@cache
def _known() -> tuple[str, ...]:
    paths = [key.path[:length] for root in (ROOT, OTHER_ROOT) for key in all_keys(root) for length in _lengths(key)]
    return tuple(dict.fromkeys(".".join(path) for path in paths))


def _lengths(key: Key) -> range:
    return range(1, len(key.path) + 1)


def _models(tree: dict[str, Any]) -> Iterator[str]:
    """Every model that a tree names."""
    yield tree.get("default_model", "")
    yield from tree.get("models", {}).values()
    for provider in tree.get("providers", {}).values():
        yield provider.get("model", "")
