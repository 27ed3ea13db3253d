"""Deny and ask rules in a text that no parser takes: they protect the person, so they hold all the same."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

_START = re.compile(r"""(?<![\w-])(deny|ask)["']?\s{0,80}[=:]\s{0,80}""")
_TOKEN = re.compile(r"""[\s,]+|\#[^\n]*|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'""")
_MOST_LISTS = 100
_MOST_TOKENS = 5000


def rules_in(text: str) -> dict[str, Any]:
    """The rules as a tree of settings. Takes too much rather than too little: more rules only narrow."""
    found: dict[str, dict[str, None]] = {"deny": {}, "ask": {}}
    for start in itertools.islice(_START.finditer(text), _MOST_LISTS):
        found[start[1]] |= dict.fromkeys(rule for rule in _texts(text, start.end()) if rule.strip())
    kept = {name: list(rules) for name, rules in found.items() if rules}
    return {"approval": kept} if kept else {}


def _texts(text: str, at: int) -> Iterator[str]:
    """The texts of the list that begins at a place, or the one text there."""
    several = text.startswith("[", at)
    at += several
    for _ in range(_MOST_TOKENS if several else 1):
        token = _TOKEN.match(text, at)
        if token is None:
            return
        at = token.end()
        if token[1] is not None:
            yield _unescaped(token[1])
        elif token[2] is not None:
            yield token[2]


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
