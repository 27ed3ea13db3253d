"""What a child process finds in its environment: ours, without keys and without anybody to ask."""

from collections.abc import Collection, Mapping
from pathlib import Path

MARKER = "SMITH_CALL"
"""Names the call that a process belongs to; inherited by everything it starts."""

_SHORTEST_SECRET = 8
_UNATTENDED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
}
_ASKING = frozenset({"GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "LINES", "COLUMNS"})


def environment(ours: Mapping[str, str], hidden: Collection[str], cwd: Path, mark: str) -> dict[str, str]:
    """The environment of a child in `cwd` that belongs to the call `mark`.

    The variables named in `hidden` are left out, and so is every other one that holds the value
    of one of them. A marker that we carry ourselves stays in front of ours: who started us finds
    our children too.
    """
    secrets = {ours[name] for name in hidden if ours.get(name)}
    kept = {
        name: value
        for name, value in ours.items()
        if name not in hidden and name not in _ASKING and not _tells(value, secrets)
    }
    outer = kept.get(MARKER)
    return {**kept, **_UNATTENDED, "PWD": str(cwd), MARKER: f"{outer} {mark}" if outer else mark}


def _tells(value: str, secrets: Collection[str]) -> bool:
    return any(value == secret or (len(secret) >= _SHORTEST_SECRET and secret in value) for secret in secrets)
