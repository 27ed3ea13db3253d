"""Ids and the keys made of them.

A message id like `t000012.0007` is kept as two whole numbers, so that order holds however many
turns and messages there are.
"""

import os
import re

from smith_server.core.errors import AgentFailure, failure

# 32 letters: one byte picks one evenly. None is read as another, none starts an option or a wildcard.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_MESSAGE_ID = re.compile(r"t([0-9]+)\.([0-9]+)", re.ASCII)
_TURN_ID = re.compile(r"t([0-9]+)", re.ASCII)


def new_id() -> str:
    """A fresh id of 21 letters and digits."""
    return "".join(_ALPHABET[byte % 32] for byte in os.urandom(21))


def checked(value: str) -> str:
    """`value`, if it can be part of a key.

    Raises persistence/`invalid_key` when it is empty, holds a colon or is no valid Unicode.
    """
    if not value or ":" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise _invalid(value)
    return value


def opaque(value: str) -> str:
    """`value`, if it can be the last segment of a key, where a colon is a letter like any other.

    Raises persistence/`invalid_key` when it is empty or is no valid Unicode.
    """
    if not value or any("\ud800" <= char <= "\udfff" for char in value):
        raise _invalid(value)
    return value


def joined_key(*segments: str, tail: str = "") -> str:
    """`c1`, `t000001` → `c1:t000001`; `tail` is an `opaque` last segment. Raises persistence/`invalid_key`."""
    parts = [*map(checked, segments), *([opaque(tail)] if tail else [])]
    return ":".join(parts)


def prefix_end(prefix: str) -> str | bytes:
    """The first value behind all texts that begin with `prefix`, in the order of the database.

    A range needs no wildcards, so none has to be escaped. Raises persistence/`invalid_key` for
    what is no valid Unicode.
    """
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        # A blob is greater than any text.
        return b""
    following = ord(opaque(kept)[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)


def message_key(message_id: str) -> tuple[int, int]:
    """`t000012.0007` → (12, 7). Raises persistence/`invalid_key`."""
    found = _MESSAGE_ID.fullmatch(message_id)
    if found is None:
        raise _invalid(message_id)
    return int(found[1]), int(found[2])


def message_id(turn: int, seq: int) -> str:
    """(12, 7) → `t000012.0007`."""
    return f"{turn_id(turn)}.{seq:04d}"


def turn_key(turn: str) -> int:
    """`t000012` → 12. Raises persistence/`invalid_key`."""
    found = _TURN_ID.fullmatch(turn)
    if found is None:
        raise _invalid(turn)
    return int(found[1])


def turn_id(turn: int) -> str:
    """12 → `t000012`."""
    return f"t{turn:06d}"


def _invalid(value: str) -> AgentFailure:
    return failure("persistence", "invalid_key", f"{value!r} cannot be an id in the store.", value=value)
