"""The store's notes and memories in the shape that tools ask for."""

from collections.abc import Sequence
from functools import partial

from smith_server.core.events import TodosUpdated
from smith_server.core.ports import Emit, Entry
from smith_server.core.todos import Todo
from smith_server.store import memory, notes, todos
from smith_server.store.db import Database
from smith_server.store.notes import scratchpad_id


class Scratchpad:
    """The texts of one conversation."""

    def __init__(self, database: Database, conversation: str) -> None:
        self._database = database
        self._conversation = conversation

    async def put(self, key: str, value: str) -> None:
        write = partial(notes.put, conversation=self._conversation, name=scratchpad_id(key), text=value)
        await self._database.call(write)

    async def get(self, key: str) -> str | None:
        return await self._database.call(partial(notes.get, conversation=self._conversation, name=scratchpad_id(key)))

    async def list(self, prefix: str) -> Sequence[Entry]:
        start = notes.SCRATCHPAD + prefix
        found = await self._database.call(partial(notes.listed, conversation=self._conversation, prefix=start))
        return [Entry(each.id.removeprefix(notes.SCRATCHPAD), each.label) for each in found]

    async def delete(self, key: str) -> bool:
        return await self._database.call(
            partial(notes.delete, conversation=self._conversation, name=scratchpad_id(key))
        )


class ProjectMemory:
    """The texts of one project."""

    def __init__(self, database: Database, project: str) -> None:
        self._database = database
        self._project = project

    async def get(self, key: str) -> str | None:
        return await self._database.call(partial(memory.get, project=self._project, name=key))

    async def list(self) -> Sequence[Entry]:
        found = await self._database.call(partial(memory.listed, project=self._project))
        return [Entry(each.id, each.label) for each in found]

    async def upsert(self, key: str, content: str) -> None:
        await self._database.call(partial(memory.upsert, project=self._project, name=key, text=content))

    async def delete(self, key: str) -> bool:
        return await self._database.call(partial(memory.delete, project=self._project, name=key))


class Todos:
    """The plan of one actor; `emit` tells people of each change."""

    def __init__(self, database: Database, conversation: str, job: str, emit: Emit) -> None:
        self._database = database
        self._conversation = conversation
        self._job = job
        self._emit = emit

    async def put(self, plan: Sequence[Todo]) -> None:
        write = partial(todos.put, conversation=self._conversation, todos=plan, job=self._job)
        await self._database.call(write)
        self._emit(TodosUpdated(todos=tuple(plan)))

    async def list(self) -> Sequence[Todo]:
        return await self._database.call(partial(todos.listed, conversation=self._conversation, job=self._job))
