"""The settings that a person changed for good at run time: one tree, kept as it was given.

Which paths may be in it, and what their values may be, is decided above.
"""

from collections.abc import Mapping
from typing import Any

import apsw
from msgspec import Struct

from smith_server.core.errors import AgentError, AgentFailure, agent_error
from smith_server.store.codec import decode, encode
from smith_server.store.transaction import transaction

_KEY = "config:runtime_overrides"


class Overrides(Struct, frozen=True):
    """The tree, and what a person has to know when a stored one could not be used."""

    tree: dict[str, Any] = {}
    warning: AgentError | None = None


def load(connection: apsw.Connection) -> Overrides:
    """What was stored last. One that cannot be used counts as empty and is told as a warning."""
    record = connection.execute("SELECT record FROM config WHERE key = ?", (_KEY,)).get
    if record is None:
        return Overrides()
    try:
        tree = decode(record, dict[str, Any])
    except AgentFailure as problem:
        return Overrides(warning=problem.error)
    if isinstance(tree.get("entries"), list):
        text = "The stored settings have the form of an early version and are not used. Set what you need again."
        return Overrides(warning=agent_error("persistence", "old_overrides", text))
    return Overrides(tree)


def save(connection: apsw.Connection, tree: Mapping[str, Any]) -> None:
    """Store `tree` in the place of the last one; an empty one leaves nothing.

    To change the stored one, load and save inside of one `transaction`, or another process may
    come between. Raises persistence/`invalid_record`.
    """
    with transaction(connection):
        if tree:
            connection.execute("INSERT OR REPLACE INTO config VALUES (?, ?)", (_KEY, encode(tree)))
        else:
            connection.execute("DELETE FROM config WHERE key = ?", (_KEY,))
