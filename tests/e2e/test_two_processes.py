"""Two servers, one store: who writes a conversation, who looks on, and how that changes."""

import asyncio
import time
from typing import Any

import pytest

from tests.e2e.client import Client, RpcError
from tests.e2e.processes import until
from tests.e2e.test_conversations import conversations, refused, stored_kinds, told
from tests.e2e.test_dispatch import call, dispatch, report
from tests.e2e.world import World

GOOD = [{"text": "All is well."}]


async def begun(world: World, *replies: Any, **more: Any) -> tuple[Client, str]:
    world.script(*replies, **more)
    client = await world.server()
    return client, (await client.run("smith.turn", text="first"))["conversation"]


async def test_a_conversation_open_elsewhere_is_not_taken_by_a_start(world: World) -> None:
    first, name = await begun(world, GOOD, loop=True)
    second = await world.server()
    answer = await second.run("smith.turn", text="hi")
    assert answer["conversation"] != name
    notice = await second.event("notice")
    assert f"process {first.process.pid}" in notice["text"]
    assert notice["text"].endswith("This is a new conversation.")


async def test_what_is_loaded_by_name_is_read_only_and_follows_within_a_second(world: World) -> None:
    world.settings('active_role = "orchestrator"\n')
    world.file("a.py", "one\n")
    look = [[call("read", path="a.py")], report(findings=["one"], evidence=["a.py:1"])]
    first, name = await begun(
        world,
        GOOD,
        [{"text": "I send one."}, dispatch("explorer", "look at a")],
        [{"wait": 1.5}, {"text": "Done."}],
        [{"error": {"code": "bad_request"}}],
        others={"look at a": look},
    )
    second = await world.server()
    loaded = await conversations(second, "load", conversation=name)
    assert (loaded["holder"]["pid"], loaded["busy"]) == (first.process.pid, False)
    assert told(loaded["events"]) == told(stored_kinds(first.events))
    for command, argument in (
        ("smith.turn", {"text": "mine"}),
        ("smith.steer", {"text": "mine"}),
        ("smith.queue", {"op": "drop", "id": "x"}),
        ("smith.inspect", {"op": "delete", "message": "t000001.0001"}),
        ("smith.conversations", {"op": "rename", "title": "mine"}),
        ("smith.conversations", {"op": "delete"}),
    ):
        assert await refused(second, command, conversation=name, **argument) == ("policy", "read_only")
    status = await second.run("smith.status")
    assert status["sessions"][-1]["holder"]["pid"] == first.process.pid
    seen = len(second.events)
    turn = asyncio.ensure_future(first.run("smith.turn", text="second"))
    shown = await first.event("dispatch_finished")
    late = time.monotonic()
    await second.event("dispatch_finished", child=shown["child"])
    assert time.monotonic() - late < 1.0
    running = await conversations(second, "load", conversation=name)
    assert running["events"][-1]["kind"] != "turn_completed"
    await turn
    await first.run("smith.turn", text="third")
    await second.event("turn_error", turn="t000003")
    live = stored_kinds([event for event in first.events if event["turn"] != "t000001"])
    assert told(second.events[seen:]) == told(live)
    again = await conversations(second, "load", conversation=name)
    assert told(again["events"]) == told(stored_kinds(first.events))


async def test_a_change_and_a_deletion_there_are_told_here(world: World) -> None:
    first, name = await begun(world, GOOD)
    second = await world.server()
    await conversations(second, "load", conversation=name)
    await first.run("smith.inspect", op="edit", message="t000001.0002", text="All was well.")
    await second.event("conversation_changed", change="rewritten", seconds=5)
    loaded = await conversations(second, "load", conversation=name)
    assert "All was well." in [event.get("text") for event in loaded["events"]]
    await conversations(first, "delete", conversation=name)
    await second.event("conversation_changed", change="deleted", seconds=5)
    assert await refused(second, "smith.turn", text="mine", conversation=name) == ("schema", "not_found")


async def test_one_that_nobody_writes_any_more_can_be_written_again(world: World) -> None:
    first, name = await begun(world, GOOD, GOOD)
    second = await world.server()
    await conversations(second, "load", conversation=name)
    assert await first.stop() == 0
    await second.event("conversation_changed", change="released", seconds=5)
    answer = await second.run("smith.turn", text="second", conversation=name)
    assert (answer["turn"], answer["text"]) == ("t000002", "All is well.")


async def test_the_old_holder_of_what_was_taken_over_looks_on_when_it_is_used_again(world: World) -> None:
    first, name = await begun(world, GOOD, loop=True)
    second = await world.server()
    await conversations(second, "load", conversation=name)
    taken = await conversations(second, "take_over", conversation=name)
    assert ("holder" in taken, taken["conversation"]) == (False, name)
    assert (await second.run("smith.turn", text="second", conversation=name))["turn"] == "t000002"
    # Whoever had it and names nothing means it, too.
    with pytest.raises(RpcError) as caught:
        await first.run("smith.turn", text="lost?")
    assert (caught.value.data["code"], caught.value.data["data"]["pid"]) == ("read_only", second.process.pid)
    failed = await first.event("session_failed")
    assert (failed["conversation"], failed["error"]["code"]) == (name, "lease_lost")
    loaded = await conversations(first, "load", conversation=name)
    assert loaded["holder"]["pid"] == second.process.pid
    assert [event["text"] for event in loaded["events"] if event["kind"] == "turn_started"] == ["first", "second"]
    await second.run("smith.turn", text="third", conversation=name)
    await first.event("turn_completed", turn="t000003", seconds=5)
    back = await conversations(first, "take_over", conversation=name)
    assert "holder" not in back
    forked = await conversations(second, "fork", conversation=name)
    assert (await second.run("smith.turn", text="mine", conversation=forked["conversation"]))["turn"] == "t000004"


async def test_who_goes_on_in_a_project_is_told_which_editor_has_its_conversation_and_what_to_do(world: World) -> None:
    world.script(GOOD, loop=True)
    first = await world.server(clientInfo={"name": "Neovim"})
    name = (await first.run("smith.turn", text="first"))["conversation"]
    second = await world.server()
    await second.run("smith.turn", text="hi")
    notice = await second.event("notice")
    assert f"Conversation {name[:8]} is open in Neovim (process {first.process.pid}" in notice["text"]
    assert f"/load {name[:8]} shows it here" in notice["text"]
    assert (await second.run("smith.slash", line=f"/load {name[:8]}"))["data"]["conversation"] == name
    for said in ("This conversation goes on here.", "This conversation is yours already."):
        answer = await second.run("smith.slash", line="/take-over", conversation=name)
        assert answer["text"].startswith(said)
    with pytest.raises(RpcError) as caught:
        await first.run("smith.turn", text="lost?", conversation=name)
    assert caught.value.data["code"] == "read_only"
    failed = await first.event("session_failed")
    assert "/take-over goes on with it here" in failed["error"]["message"]
    assert "not stored" not in failed["error"]["message"]


async def test_the_old_holder_of_what_was_taken_over_cannot_rename_it_and_learns_why(world: World) -> None:
    first, name = await begun(world, GOOD)
    second = await world.server()
    await conversations(second, "take_over", conversation=name)
    for _ in range(2):
        refusal = await refused(first, "smith.conversations", op="rename", conversation=name, title="mine")
        assert refusal == ("persistence", "held")
    failed = await first.event("session_failed")
    assert (failed["conversation"], failed["error"]["code"]) == (name, "lease_lost")
    await conversations(second, "rename", conversation=name, title="theirs")
    assert (await conversations(first, "load", conversation=name))["title"] == "theirs"


async def test_nothing_is_taken_from_a_running_turn_unless_its_process_is_dead(world: World) -> None:
    world.script([{"text": "Half."}, {"wait": 60}], GOOD)
    first = await world.server()
    first.command("smith.turn", text="first")
    name = (await first.event("llm_output_delta"))["conversation"]
    second = await world.server()
    loaded = await conversations(second, "load", conversation=name)
    assert loaded["events"][-1]["kind"] == "message_added"
    assert await refused(second, "smith.conversations", op="take_over", conversation=name) == ("persistence", "held")
    first.process.kill()
    await first.process.wait()
    taken = await conversations(second, "take_over", conversation=name)
    assert "Half." in [event.get("text") for event in taken["events"]]
    assert taken["events"][-1]["kind"] == "turn_error"
    world.script(GOOD)
    third = await world.server()
    assert (await conversations(third, "load", conversation=name))["holder"]["pid"] == second.process.pid
    await until(lambda: second.process.returncode is None, 1)
