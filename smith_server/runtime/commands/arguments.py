"""What may follow the name of a command: for completion. Nothing here waits for a network.

Each function gets the words after the command, of which the last is being typed.
"""

from collections.abc import Sequence

from smith_server.runtime.commands.config import candidates
from smith_server.runtime.completion import Candidate
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session

_MOST_CONVERSATIONS = 100


async def nothing(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """For commands that take nothing, or anything."""
    return ()


async def roles(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """The roles that a person talks to."""
    known = (services.handles.role.resolve(name) for name in services.handles.role.user_facing())
    return [Candidate(role.name, role.about) for role in known] if len(words) == 1 else ()


async def models(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """The models that are known by now."""
    return [Candidate(name) for name in _models(session, services)] if len(words) == 1 else ()


async def conversations(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """The conversations of the project."""
    if len(words) > 1:
        return ()
    rows = await services.library.listed(session.root, _MOST_CONVERSATIONS)
    return [Candidate(row.id[:8], row.title) for row in rows]


async def settings(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """Sub-commands, paths and values of `/config`."""
    config = services.handles.config
    found = candidates(words, config.loaded(session.root), _models(session, services), await config.overrides())
    return [Candidate(each) for each in found]


async def memory(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """Sub-commands of `/memory`, and the ids of what is remembered."""
    match words:
        case [_]:
            return [Candidate(each) for each in ("list", "get", "upsert", "delete")]
        case ["get" | "upsert" | "delete", _] if (store := await services.memory(session)) is not None:
            return [Candidate(entry.key, entry.label) for entry in await store.list()]
    return ()


async def scratchpad(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """Sub-commands of `/scratchpad`, and the keys of what is kept."""
    match words:
        case [_]:
            return [Candidate(each) for each in ("list", "get", "set", "delete")]
        case ["list" | "get" | "set" | "delete", beginning]:
            entries = await services.library.scratchpad(session.id).list(beginning)
            return [Candidate(entry.key, entry.label) for entry in entries]
    return ()


async def everywhere(words: Sequence[str], session: Session, services: Services) -> Sequence[Candidate]:
    """The option of `/search`."""
    return [Candidate("--all", "beyond this project")] if len(words) == 1 else ()


def _models(session: Session, services: Services) -> Sequence[str]:
    return services.handles.model.known(services.handles.config.settings(session.root))
