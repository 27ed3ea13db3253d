"""What every setting is made of: its sentence, its limits, and what a project file may do with it."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from smith_server.config.freeze import FrozenDict, freeze


class Table(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A group of settings. Nothing in it can be changed, tables with free names included."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, dict) and not isinstance(value, FrozenDict):
                msgspec.structs.force_setattr(self, name, freeze(value))


class Rule(Struct, frozen=True):
    """What a project file may do with a setting before anybody consented.

    `free` any value, `lower` a lower number, `only` one value (the narrowest), `model` a model that
    the person's own file names, `consent` nothing, `never` nothing and no consent will change that.
    """

    name: Literal["free", "lower", "only", "model", "consent", "never"]
    value: Any = None


FREE, LOWER, MODEL = Rule("free"), Rule("lower"), Rule("model")
CONSENT, NEVER = Rule("consent"), Rule("never")


def only(value: Any) -> Rule:
    """The rule of a setting of which a project may choose the narrowest value alone."""
    return Rule("only", value)


ADDS = "adds"
"""The lists of all layers add up; a higher one cannot take away what a lower one says."""
ABSENT = "absent"
"""Not part of the effective settings until somebody sets it; the default is that of its user."""
SECRET = "secret"
"""Never shown."""
GLOBAL = "global"
"""Taken from the global file alone."""
FOLDS = "folds"
"""Names in the table are compared without case and without blanks around them."""


def about(sentence: str, *notes: Rule | str, **limits: Any) -> Meta:
    """What is known of a setting besides its type and default: its rule (else `CONSENT`), marks, limits of `Meta`."""
    rule = next((note for note in notes if isinstance(note, Rule)), CONSENT)
    marks = frozenset(note for note in notes if isinstance(note, str))
    return Meta(description=sentence, extra={"rule": rule, "marks": marks}, **limits)


class Check(Struct, frozen=True):
    """A condition that a type cannot express: what is wanted, in words, and whether a value is that."""

    wanted: str
    holds: Callable[[Any], bool]


def _stays_inside(path: str) -> bool:
    outside = path.startswith("/") or re.match("[A-Za-z]:", path) or ".." in path.split("/")
    return bool(path) and not outside and "\\" not in path and "\0" not in path


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _checked(wanted: str, holds: Callable[[Any], bool]) -> Meta:
    return Meta(extra={"check": Check(wanted, holds)})


Name = Annotated[str, Meta(min_length=1)]
Line = Annotated[str, _checked("a text that is not blank", lambda text: bool(text.strip()))]
InnerPath = Annotated[str, _checked("a path below the project, with `/` and without `..`", _stays_inside)]
Pattern = Annotated[str, _checked("a regular expression", _is_pattern)]

MOST = 1_000_000_000
"""Beyond any sensible number, and small enough for every clock and counter."""

Seconds = Annotated[float, Meta(gt=0, le=MOST)]
Count = Annotated[int, Meta(ge=0, le=MOST)]
Positive = Annotated[int, Meta(ge=1, le=MOST)]
Pauses = Annotated[tuple[Annotated[float, Meta(ge=0, le=MOST)], ...], Meta(min_length=1)]
