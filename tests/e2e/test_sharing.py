"""Two servers at work in one database at the same time."""

import asyncio
from pathlib import Path
from typing import Any

from smith_server.core.messages import AssistantMessage, ToolMessage, UserMessage
from smith_server.store import conversations, turns
from smith_server.store.opening import Place, open_store
from tests.e2e.client import Client
from tests.e2e.world import World
from tests.store.builders import is_index_as_rebuilt, replayed, rows

TURNS = 100
REPLIES: list[list[dict[str, Any]]] = [
    [{"text": "I look at it.", "size": 4}, {"call": "read", "arguments": {"path": "a.py"}}],
    [{"text": "It is as it was."}],
]


async def prompts(world: World, name: str, errors: Path) -> tuple[str, Client]:
    """A hundred prompts to a server of its own; the conversation that they were stored in."""
    with errors.open("wb") as told:
        client = await Client.start(world.environ, world.root, errors=told)
    await client.initialize(world.root)
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    talks = set()
    for number in range(TURNS):
        answer = await client.run("smith.turn", text=f"{name} {number}")
        assert (answer["stop_reason"], answer["text"]) == ("completed", "It is as it was.")
        talks.add(answer["conversation"])
    assert len(talks) == 1
    await client.stop()
    return talks.pop(), client


async def test_two_servers_run_a_hundred_turns_each_and_nobody_sees_a_lock(world: World, tmp_path: Path) -> None:
    world.file("a.py", "one\n")
    world.script(*REPLIES, strict=True, loop=True)
    names = ("left", "right")
    both = await asyncio.gather(*(prompts(world, name, tmp_path / name) for name in names))

    connection = open_store(Place(world.home / "smith" / "smith.db")).connection
    assert len({talk for talk, _ in both}) == 2
    for name, (talk, client) in zip(names, both, strict=True):
        messages = replayed(connection, talk).messages
        assert [message.id for message in messages] == [
            f"t{turn:06d}.{seq:04d}" for turn in range(1, TURNS + 1) for seq in range(1, 5)
        ]
        assert [message.text for message in messages if isinstance(message, UserMessage)] == [
            f"{name} {number}" for number in range(TURNS)
        ]
        assert {message.text for message in messages if isinstance(message, AssistantMessage)} == {
            "I look at it.",
            "It is as it was.",
        }
        assert all(message.ok for message in messages if isinstance(message, ToolMessage))
        assert turns.next_turn(connection, talk) == TURNS + 1
        header = conversations.get(connection, talk)
        assert header is not None and header.message_count == 4 * TURNS
        assert {"persistence_error", "agent_error", "turn_error"}.isdisjoint(client.kinds())
        seen = bytes(client.raw) + (tmp_path / name).read_bytes()
        assert b"locked" not in seen.lower()
    assert rows(connection, "turn", "count(*) FILTER (WHERE state = 'completed')") == [(2 * TURNS,)]
    assert is_index_as_rebuilt(connection)
    logs = "".join(path.read_text() for path in (world.home / "smith").rglob("*.log*"))
    assert "locked" not in logs.lower()
