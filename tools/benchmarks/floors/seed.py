"""Fills the store of a home through the program's own store: conversations of so many messages each.

The last one is the one that the project goes on with.
"""

import asyncio
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import apsw

from smith_server.config.paths import project_root
from smith_server.core.messages import AssistantMessage, Call, Message, Text, ToolMessage, UserMessage
from smith_server.store import conversations, turns
from smith_server.store.conversations import Header
from smith_server.store.db import Database
from smith_server.store.holder import this_process
from smith_server.store.keys import new_id
from smith_server.store.writes import AddMessage, CloseTurn, OpenTurn, Write

PER_TURN = 4


def messages(turn: str, number: int) -> Iterator[Message]:
    """The messages of a turn that ran one command."""
    call = f"call_{number}"
    yield UserMessage(f"{turn}.0001", f"prompt {number}")
    yield AssistantMessage(f"{turn}.0002", (Call(call, "bash", '{"command": "true"}'),), "bench", "tool_use")
    yield ToolMessage(f"{turn}.0003", call, "bash", "[no output]")
    yield AssistantMessage(f"{turn}.0004", (Text(f"answer {number}"),), "bench")


def writes(conversation: str, count: int) -> Iterator[Write]:
    """Whole turns with `count` messages in all."""
    for number in range(1, count // PER_TURN + 1):
        turn = f"t{number:06d}"
        yield OpenTurn(conversation, turn, f"prompt {number}", this_process())
        for message in messages(turn, number):
            yield AddMessage(conversation, message)
        yield CloseTurn(conversation, turn, "completed")


def fill(root: str, count: int, connection: apsw.Connection) -> None:
    """One conversation."""
    header = conversations.create(connection, Header(new_id(), root, "seeded"))
    turns.apply(connection, writes(header.id, count))
    conversations.point(connection, root, header.id)


async def main() -> None:
    """Fill the store and close it."""
    home, count, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    root = str(project_root(Path.cwd()))
    database = await Database.open(home / "smith.db")
    for _ in range(times):
        await database.call(partial(fill, root, count))
    await database.close()


asyncio.run(main())
