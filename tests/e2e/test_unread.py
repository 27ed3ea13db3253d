"""A client that does not read: the turn goes on, a cancel is served, and nothing is lost when it reads again."""

import asyncio
import secrets

from tests.e2e.processes import gone, living, until
from tests.e2e.world import World

PIECE = 100_000
PIECES = 120


async def test_a_client_that_does_not_read_is_told_to_load_when_it_reads_again(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    words = {"text": "x" * (PIECE * PIECES), "size": PIECE}
    world.script([words, {"call": "bash", "arguments": {"command": f"sleep {mark}"}}])
    client = await world.server(limit=1 << 16)
    _, turn = client.command("smith.turn", text="go")
    await client.event("llm_request_started")
    client.reads.clear()
    await until(lambda: bool(living(f"sleep {mark}")), 30)
    _, cancel = client.command("smith.cancel")
    await gone(mark)
    client.reads.set()
    assert (await asyncio.wait_for(cancel, 20))["cancelled"] is True
    assert (await asyncio.wait_for(turn, 20))["stop_reason"] == "cancelled"
    resync = await client.event("resync")
    assert 8 << 20 <= len(client.text()) < 10 << 20
    assert [event["seq"] for event in client.events] == list(range(1, len(client.events) + 1))
    loaded = await client.run("smith.conversations", op="load", conversation=resync["conversation"])
    shown = "".join(event["text"] for event in loaded["events"] if event["kind"] == "llm_output_delta")
    assert len(shown) == PIECE * PIECES
    assert loaded["events"][-1]["kind"] == "turn_cancelled"
    assert (await client.run("smith.status", since=resync["seq"] - 1))["events"] == [resync]
