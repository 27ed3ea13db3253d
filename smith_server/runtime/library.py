"""What is stored, as a person looks at it and changes it: conversations, their notes, the memory of projects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
from msgspec import Struct

from smith_server.core.compaction import Compaction
from smith_server.core.errors import failure
from smith_server.core.late import late
from smith_server.core.messages import Message, Usage
from smith_server.runtime.repositories import Scratchpad
from smith_server.store import compaction, conversations, lease, usage
from smith_server.store.codec import encode_json
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.lease import Lease
from smith_server.store.transaction import transaction
from smith_server.store.usage import DayUsage

if TYPE_CHECKING:
    from smith_server.store.jobs import Job
    from smith_server.store.pages import Page
    from smith_server.store.search import Found

T = TypeVar("T")

_page: "Callable[..., Page]" = late("smith_server.store.pages:page")
_search: "Callable[..., Found]" = late("smith_server.store.search:search")
_jobs: "Callable[..., Sequence[Job]]" = late("smith_server.store.jobs:listed")
_records: Callable[..., Iterator[Any]] = late("smith_server.store.export:export")
_edit: Callable[..., Message] = late("smith_server.store.messages:edit")
_delete: Callable[..., Sequence[str]] = late("smith_server.store.messages:delete")
_clear: Callable[..., int] = late("smith_server.store.messages:clear")


class Edit(Struct, frozen=True):
    """A change of one message: its new text, or None to remove it. `expect` is the hash of what was looked at."""

    message: str
    text: str | None = None
    expect: str = ""


class Library:
    """Reads and changes what no turn is writing. Everything said so far is stored when its functions are called."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def listed(self, root: Path | None, limit: int, before: int | None = None) -> Sequence[Header]:
        """The conversations of a project (None for all), last used first.

        For the next page give the `used` of the last one as `before`.
        """
        place = str(root) if root is not None else None
        return await self._database.call(partial(conversations.listed, root=place, limit=limit, before=before))

    async def find(self, beginning: str, root: Path | None = None) -> Header:
        """The one conversation whose id begins so. Raises a `schema` failure `not_found` or `ambiguous`."""
        place = str(root) if root is not None else None
        return await self._database.call(partial(conversations.find, beginning=beginning, root=place))

    async def messages(self, conversation: str) -> Sequence[Message]:
        """All messages of a conversation itself, oldest first."""
        loaded = await self._database.call(partial(conversations.load, conversation=conversation))
        return loaded.messages

    async def compactions(self, conversation: str) -> Sequence[Compaction]:
        """What of it is not sent any more, as a record for each time that this was decided."""
        return await self._database.call(partial(compaction.load, conversation=conversation))

    async def page(self, conversation: str, limit: int, before: str = "") -> "Page":
        """A part of a conversation as it was said, children included; see `store/pages.py`."""
        read = partial(_page, conversation=conversation, limit=limit, before=before)
        return await self._database.call(read)

    async def jobs(self, conversation: str) -> "Sequence[Job]":
        """The children of a conversation, in the order in which they began."""
        return await self._database.call(partial(_jobs, conversation=conversation))

    async def child_messages(self, conversation: str, job: str, limit: int, before: str = "") -> Sequence[Message]:
        """The last messages of a child in front of the message id `before`, oldest first."""
        read = partial(conversations.page, conversation=conversation, limit=limit, before=before or None, job=job)
        return (await self._database.call(read)).messages

    async def last(self, root: Path) -> str:
        """The id of the conversation to go on with in a project, "" for none."""
        return await self._database.call(partial(_last, root=str(root)))

    async def usage(self, conversation: str) -> Usage:
        """Everything that a conversation has used."""
        return await self._database.call(partial(usage.total, conversation=conversation))

    async def usage_by_role(self, conversation: str) -> Mapping[str, Usage]:
        """The same by who used it: "parent" for the conversation itself, else the role of its children."""
        return await self._database.call(partial(usage.by_role, conversation=conversation))

    async def usage_by_day(self, root: Path) -> Sequence[DayUsage]:
        """What the conversations of a project have used, apart for days and models, oldest first."""
        return await self._database.call(partial(usage.by_day, root=str(root)))

    def scratchpad(self, conversation: str) -> Scratchpad:
        """What a conversation keeps."""
        return Scratchpad(self._database, conversation)

    async def search(self, words: str, project: str, root: Path | None) -> "Found":
        """What is stored and holds these words: in a project (identity, root) or anywhere (None)."""
        place = str(root) if root is not None else None
        identity = project if root is not None and project else None
        return await self._database.call(partial(_search, query=words, project=identity, root=place))

    async def set_role(self, conversation: str, role: str) -> None:
        """The role of a conversation from the next turn on."""
        await self._database.call(partial(conversations.set_role, conversation=conversation, role=role))

    async def set_model(self, conversation: str, model: str, provider: str) -> None:
        """The model of a conversation from the next turn on."""
        await self._database.call(
            partial(conversations.set_model, conversation=conversation, model=model, provider=provider)
        )

    async def export(self, conversation: str, path: Path) -> int:
        """Write everything that is stored of a conversation into a new file, a record per line; how many lines.

        Raises a `schema` failure `exists` or `not_writable`.
        """
        return await self._database.call(partial(_export, conversation=conversation, path=path))

    async def edit(self, conversation: str, held: Lease | None, edit: Edit) -> Message:
        """Give a message another text; what is stored then. Raises as `store/messages.py` does."""
        assert edit.text is not None, "without a text it is a removal"
        change = partial(_edit, name=edit.message, text=edit.text, expect=edit.expect)
        return await self._database.call(partial(_changed, conversation, held, change))

    async def remove(self, conversation: str, held: Lease | None, edit: Edit) -> Sequence[str]:
        """Remove a message and what belongs to it; the ids of those that are gone."""
        change = partial(_delete, name=edit.message, expect=edit.expect)
        return await self._database.call(partial(_changed, conversation, held, change))

    async def clear(self, conversation: str) -> int:
        """Empty a conversation; how many messages are gone."""
        return await self._database.call(partial(_clear, conversation=conversation))


def _changed(conversation: str, held: Lease | None, change: Callable[..., T], connection: apsw.Connection) -> T:
    """Change messages under the right to write them; both are one transaction."""
    with transaction(connection):
        if held is not None:
            lease.require(connection, {conversation: held.token})
        return change(connection, conversation)


def _last(connection: apsw.Connection, root: str) -> str:
    name = conversations.pointer(connection, root)
    return name if name is not None and conversations.get(connection, name) is not None else ""


def _export(connection: apsw.Connection, conversation: str, path: Path) -> int:
    # The first record comes before the file is made: there is none of a conversation that is not stored.
    records = _records(connection, conversation)
    lines, count = [encode_json(next(records))], 0
    try:
        with path.open("x", encoding="ascii") as file:
            for line in chain(lines, map(encode_json, records)):
                file.write(f"{line}\n")
                count += 1
    except FileExistsError:
        raise failure("schema", "exists", f"{path} is there already. Give another name: /export <file>") from None
    except (OSError, ValueError) as problem:
        text = f"{path} cannot be written: {problem}. Give another name: /export <file>"
        raise failure("schema", "not_writable", text) from None
    return count
