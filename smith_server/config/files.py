"""Reads one settings file, TOML or JSON. What cannot be read as a whole still gives the rules that protect."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from smith_server.config.values import printable
from smith_server.core.late import late

_MOST_BYTES = 1 << 20

_rules_in: Callable[[str], dict[str, Any]] = late("smith_server.config.salvage:rules_in")


class Content(Struct, frozen=True):
    """A file as a tree and as text. `problem` tells why it is not all there; the tree then holds deny and ask rules."""

    values: dict[str, Any]
    text: str = ""
    problem: str = ""


def read(path: Path) -> Content | None:
    """The content of a file; None when there is none. Never raises for what is in it or how it is stored."""
    try:
        path.lstat()
        data = _bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        return Content({}, "", f"{path} cannot be used: {_plain(problem)}")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        text = data.decode("utf-8", "replace")
        return Content(_rules_in(text), text, f"{path}:{line} cannot be used: the text is not UTF-8")
    try:
        values = json.loads(text, object_pairs_hook=_unique) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        return Content(_rules_in(text), text, f"{path}{_line(problem)} cannot be used: {_plain(problem)}")
    if not isinstance(values, dict):
        return Content({}, text, f"{path}:1 cannot be used: it holds no table")
    return Content(values, text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that stands twice one value would be lost without a word."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name!r} stands twice")
        found[name] = value
    return found


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise ValueError("it is no regular file")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError("it is larger than 1 MiB")
    return path.read_bytes()


def _plain(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deep"
    return printable(problem.strerror or "" if isinstance(problem, OSError) else str(problem))


def _line(problem: Exception) -> str:
    found = re.search(r"line (\d+)", str(problem))
    return f":{found[1]}" if found else ""
