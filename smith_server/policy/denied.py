"""Which paths the rules keep from the model, for tools that look at many files at once. Pure."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_RULE = re.compile(r"\s*([\w*]+)\s*\((.*)\)\s*", re.DOTALL)
_LOOKING = frozenset({"read", "read_file", "grep", "glob"})
_PIECES = re.compile(r"\*\*/|/\*\*$|\*+|\?|\{[^{}]*,[^{}]*\}|.", re.DOTALL)


def denied_paths(rules: Iterable[str], project: Path, home: Path) -> Callable[[str], bool] | None:
    """Tells of an absolute path whether a deny rule for `read` or a searching tool matches it; None without such rules.

    A search leaves out what any of these rules covers. Patterns: `*` and `?` stay inside one
    component, `**/` spans any number, a final `/**` covers the folder too; one without any of them
    covers all beneath. `**` at the start is anywhere, `/` and `~/` absolute, the rest below the project.
    """
    patterns = [found[2].strip() for rule in rules if (found := _RULE.fullmatch(rule)) and _looks(found[1])]
    roots = dict.fromkeys((str(project), os.path.realpath(project)))
    texts = [text for pattern in patterns if pattern for text in _expressions(pattern, tuple(roots), home)]
    if not texts:
        return None
    matches = re.compile("|".join(texts), re.DOTALL).fullmatch
    return lambda path: matches(path) is not None


def _looks(tool: str) -> bool:
    return tool in _LOOKING or tool.startswith("code_")


def _expressions(pattern: str, roots: Sequence[str], home: Path) -> list[str]:
    """The pattern as regular expressions for whole absolute paths."""
    below = "" if set("*?{") & set(pattern) else "(?:/.*)?"
    pattern = pattern.rstrip("/") or "/"
    if pattern.startswith("**"):
        return [rf"(?:/.*)?/{_translated(pattern.removeprefix('**').removeprefix('/'))}"]
    if pattern.startswith("~/"):
        return [re.escape(f"{home}/") + _translated(pattern[2:]) + below]
    if pattern.startswith("/"):
        return [_translated(pattern) + below]
    return [re.escape(f"{root}/") + _translated(pattern.removeprefix("./")) + below for root in roots]


def _translated(pattern: str) -> str:
    return "".join(_piece(found[0]) for found in _PIECES.finditer(pattern))


def _piece(piece: str) -> str:
    if piece == "**/":
        return "(?:[^/]+/)*"
    if piece == "/**":
        return "(?:/.*)?"
    if piece[0] == "*":
        return ".*" if piece == "**" else "[^/]*"
    if piece == "?":
        return "[^/]"
    if len(piece) > 1:
        return "(?:" + "|".join(_translated(choice) for choice in piece[1:-1].split(",")) + ")"
    return re.escape(piece)
