"""A killed server loses nothing that was shown, leaves no process, and its conversation goes on."""

import asyncio
import secrets
import signal

import pytest

from tests.e2e.client import Client
from tests.e2e.processes import gone, living, until
from tests.e2e.world import World

WORDS = "".join(f"word{number} " for number in range(400))
GOOD = [{"text": "Well."}]


async def stored_text(client: Client) -> str:
    """What the newest conversation of the project says, seen by a fresh server."""
    listed = await client.run("smith.inspect", op="list")
    parts: list[str] = []
    for message in listed["messages"]:
        content = message["content"]
        if content["type"] == "assistant":
            parts += [part["text"] for part in content.get("parts", ()) if part["type"] == "text"]
    return "".join(parts)


async def kill(client: Client) -> None:
    client.process.send_signal(signal.SIGKILL)
    await client.process.wait()


async def test_everything_that_was_shown_is_there_again_at_twenty_moments_of_the_stream(world: World) -> None:
    """One conversation, killed twenty times: each text a client saw is in the store."""
    world.script([{"text": WORDS, "size": 7, "delay": 0.002}, {"wait": 60}])
    shown = ""
    for moment in range(21):
        client = await world.server()
        if moment:
            assert shown in await stored_text(client)
        if moment == 20:
            await client.stop()
            return
        client.command("smith.turn", text=f"go {moment}")
        await until(lambda client=client, moment=moment: len(client.text()) > moment * 60, 10)
        await kill(client)
        shown = client.text()
        assert len(shown) > moment * 60


async def test_a_conversation_killed_in_the_stream_is_accepted_by_a_strict_provider(world: World) -> None:
    world.script([{"text": WORDS, "size": 7, "delay": 0.005}])
    client = await world.server()
    client.command("smith.turn", text="go")
    await until(lambda: len(client.text()) > 200, 10)
    await kill(client)
    world.script(GOOD)
    again = await world.server()
    answer = await again.run("smith.turn", text="go on")
    assert (answer["conversation"], answer["stop_reason"]) == (client.events[0]["conversation"], "completed")


async def test_a_conversation_killed_in_a_tool_goes_on_and_the_call_is_not_run_again(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    command = f"echo once >> ran; trap '' TERM; sleep {mark} & setsid sleep {mark} & sleep {mark}"
    calls = [{"call": "bash", "arguments": {"command": command}}, {"call": "read", "arguments": {"path": "ran"}}]
    world.script([{"text": "I run it."}, *calls])
    client = await world.server()
    client.command("smith.turn", text="go")
    await until(lambda: len(living(f"sleep {mark}")) >= 3, 10)
    await kill(client)
    world.script(GOOD)
    again = await world.server()
    loaded = await again.run("smith.conversations", op="load")
    finished = [event for event in loaded["events"] if event["kind"] == "tool_call_finished"]
    assert [event["code"] for event in finished] == ["interrupted", "interrupted"]
    answer = await again.run("smith.turn", text="go on")
    assert answer["stop_reason"] == "completed"
    assert (world.root / "ran").read_text() == "once\n"
    await gone(mark, 5)


async def test_no_process_of_a_killed_server_is_left_after_five_seconds(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": f"trap '' TERM; while :; do sleep {mark}; done"}}])
    client = await world.server()
    client.command("smith.turn", text="go")
    await until(lambda: bool(living(f"sleep {mark}")), 10)
    await kill(client)
    await gone(mark, 5)


@pytest.mark.parametrize("end", ["stdin", "SIGTERM", "exit"])
async def test_an_orderly_end_takes_every_child_with_it(world: World, end: str) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": f"trap '' TERM; sleep {mark} & sleep {mark}"}}])
    client = await world.server()
    client.command("smith.turn", text="go")
    await until(lambda: len(living(f"sleep {mark}")) >= 2, 10)
    match end:
        case "stdin":
            client.process.stdin.close()
        case "SIGTERM":
            client.process.send_signal(signal.SIGTERM)
        case "exit":
            client.notify("exit", None)
    await asyncio.wait_for(client.process.wait(), 5)
    await gone(mark, 5)
    again = await world.server()
    loaded = await again.run("smith.conversations", op="load")
    assert loaded["events"][-1]["kind"] == "turn_cancelled"


@pytest.mark.parametrize("way", ["kill", "end of input", "SIGTERM"])
async def test_prompts_that_waited_are_there_again(world: World, way: str) -> None:
    world.script([{"wait": 60}])
    client = await world.server()
    client.command("smith.turn", text="first")
    await client.event("llm_request_started")
    client.command("smith.turn", text="second")
    await client.event("prompt_queued")
    match way:
        case "kill":
            await kill(client)
        case "end of input":
            assert client.process.stdin is not None
            client.process.stdin.close()
        case "SIGTERM":
            client.process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(client.process.wait(), 5)
    again = await world.server()
    loaded = await again.run("smith.conversations", op="load")
    assert (loaded["events"][-1]["kind"], loaded["events"][-1]["text"]) == ("prompt_queued", "second")
    status = await again.run("smith.status")
    assert [each["text"] for each in status["sessions"][0]["queue"]] == ["second"]


async def test_a_conversation_that_a_living_process_writes_is_not_opened_twice(world: World) -> None:
    world.script(GOOD, loop=True)
    first = await world.server()
    one = await first.run("smith.turn", text="hello")
    second = await world.server()
    two = await second.run("smith.turn", text="hello")
    assert one["conversation"] != two["conversation"]
    notice = await second.event("notice")
    assert "open in" in notice["text"]
