"""`/memory` and `/scratchpad`: what a project remembers, and what this conversation keeps."""

from collections.abc import Sequence

from smith_server.core.errors import failure
from smith_server.core.ports import Entry
from smith_server.policy.matrix import check_tool
from smith_server.runtime.commands.result import Result
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session

MEMORY_USAGE = "usage: /memory [list | get <id> | upsert <id> <text> | delete <id>]"
SCRATCHPAD_USAGE = "usage: /scratchpad [list [prefix] | get <key> | set <key> <text> | delete <key>]"


async def memory(rest: str, session: Session, services: Services) -> Result:
    """The memory of the project, as the `note` tool has it; only for roles that have that tool."""
    role = services.role(session)
    if check_tool(role.row, "note") == "deny":
        raise failure("policy", "permission_denied", f"The role {role.name} has no project memory.")
    store = await services.memory(session)
    if store is None:
        text = "This folder is no checkout with an origin, so it has no project memory."
        raise failure("policy", "no_project", text)
    word, name, text = _words(rest)
    match word, bool(name), bool(text):
        case ("" | "list", False, False):
            return _list(await store.list(), "no notes")
        case "get", True, False:
            return _found(await store.get(name), name)
        case "upsert", True, True:
            await store.upsert(name, text)
            return Result(f"noted as {name}")
        case "delete", True, False:
            return Result(f"deleted {name}") if await store.delete(name) else _found(None, name)
    raise failure("schema", "invalid_arguments", MEMORY_USAGE)


async def scratchpad(rest: str, session: Session, services: Services) -> Result:
    """The texts that this conversation keeps, reports of dispatched work among them."""
    store = services.library.scratchpad(session.id)
    word, key, text = _words(rest)
    match word, bool(key), bool(text):
        case ("" | "list", _, False):
            return _list(await store.list(key), "nothing is recorded")
        case "get", True, False:
            return _found(await store.get(key), key)
        case "set", True, True:
            await services.keep(session)
            await store.put(key, text)
            return Result(f"recorded under {key}")
        case "delete", True, False:
            return Result(f"deleted {key}") if await store.delete(key) else _found(None, key)
    raise failure("schema", "invalid_arguments", SCRATCHPAD_USAGE)


def _words(rest: str) -> tuple[str, str, str]:
    """Sub-command, name, and the rest of the line as it is."""
    word, name, text, *_ = [*rest.split(maxsplit=2), "", "", ""]
    return word, name, text


def _list(entries: Sequence[Entry], nothing: str) -> Result:
    return Result("\n".join(f"{entry.key}  {entry.label}" for entry in entries) or nothing)


def _found(text: str | None, name: str) -> Result:
    if text is None:
        raise failure("schema", "not_found", f"There is nothing under {name!r}.")
    return Result(text)
