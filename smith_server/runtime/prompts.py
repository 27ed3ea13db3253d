"""The service `prompt`: what a model is told before anything else, of its role, the project and what is remembered."""

import asyncio
from pathlib import Path

from smith_server.context.prompt import About, system_prompt
from smith_server.core.errors import AgentFailure
from smith_server.core.ports import Entry, Memory
from smith_server.policy.roles import Role
from smith_server.runtime.execution import Scope

_Key = tuple[str, About, object]


class Prompts:
    """Builds system prompts; one that would say the same again is not built anew."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[_Key, str]] = {}

    async def build(self, role: Role, scope: Scope, memory: Memory | None, index_file: str) -> str:
        """The prompt of a turn. What the project remembers is left out when the store does not tell it."""
        entries = await _entries(memory)
        about = About(scope.cwd, scope.project, index_file, entries)
        key = (role.prompt_profile, about, _stamp(scope, index_file))
        last = self._last.get(role.name)
        if last is None or last[0] != key:
            text = await asyncio.to_thread(system_prompt, role.prompt_profile, about)
            last = self._last[role.name] = (key, text)
        return last[1]


async def _entries(memory: Memory | None) -> tuple[Entry, ...]:
    if memory is None:
        return ()
    try:
        return tuple(await memory.list())
    except AgentFailure:
        return ()


def _stamp(scope: Scope, index_file: str) -> object:
    """Changes when the index file does."""
    if scope.project is None or not index_file:
        return None
    return file_stamp(scope.project.root / index_file)


def file_stamp(path: Path) -> object:
    """Changes whenever a file does, links followed; None for none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
