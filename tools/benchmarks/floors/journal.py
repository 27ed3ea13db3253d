"""Row 16: events of a prompt through the program's own bus, journal and store."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from smith_server.core.errors import AgentError
from smith_server.core.events import (
    Envelope,
    Event,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    SessionStarted,
    TurnStarted,
)
from smith_server.core.messages import AssistantMessage, Call, Text, Thinking, ToolMessage
from smith_server.runtime.bus import Bus
from smith_server.runtime.journal import Journal
from smith_server.store import conversations
from smith_server.store.db import Database
from smith_server.store.holder import this_process
from smith_server.store.keys import new_id

TEXT = "Some words of an answer, as long as words of an answer are. "


def step(number: int) -> Iterator[Event]:
    """The four events of one step that are stored."""
    name, call = f"t000001.{2 * number:04d}", f"call_{number}"
    yield ReasoningDelta(message=name, text=TEXT)
    yield OutputDelta(message=name, text=TEXT)
    parts = (Thinking(TEXT), Text(TEXT), Call(call, "bash", '{"command": "true"}'))
    yield MessageAdded(message=AssistantMessage(name, parts, "bench", "tool_use"))
    yield MessageAdded(message=ToolMessage(f"t000001.{2 * number + 1:04d}", call, "bash", TEXT))


def trouble(_: str, error: AgentError) -> None:
    """Nothing that could not be stored counts."""
    raise SystemExit(error.message)


async def main() -> None:
    """Emit as many events as are asked for; all of them are stored at the end."""
    path, count = Path(sys.argv[1]), int(sys.argv[2])
    database = await Database.open(path)
    journal = Journal(database, this_process(), "the benchmark", trouble)
    bus = Bus(journal)
    bus.start()
    conversation = new_id()
    bus.emit(Envelope(conversation, "", SessionStarted(root=str(path.parent))))
    bus.emit(Envelope(conversation, "t000001", TurnStarted(text="go")))
    await bus.told()
    began = time.monotonic()
    for number in range(1, count // 4 + 1):
        for event in step(number):
            bus.emit(Envelope(conversation, "t000001", event))
        await asyncio.sleep(0)
    await bus.told()
    await journal.settled()
    print(json.dumps({"per_second": count / (time.monotonic() - began)}))
    stored = await database.call(partial(conversations.count, conversation=conversation))
    assert stored == count // 4 * 2, "every message has to be stored"
    await bus.stop()
    await database.close()


asyncio.run(main())
