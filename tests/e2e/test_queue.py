"""What waits in line and what a status line needs, over the wire and without a plug-in."""

import asyncio
import signal
from typing import Any

from tests.e2e.client import Client
from tests.e2e.test_conversations import conversations, refused
from tests.e2e.test_dispatch import call, dispatch
from tests.e2e.world import World

GOOD = [{"text": "All is well."}]


async def queue(client: Client, op: str = "list", **more: Any) -> list[tuple[str, bool]]:
    answer = await client.run("smith.queue", op=op, **more)
    return [(each["text"], each["steers"]) for each in answer["prompts"]]


async def users(client: Client) -> list[str]:
    listed = await client.run("smith.inspect", op="list")
    return [each["text"] for each in listed["messages"] if each["role"] == "user"]


async def test_prompts_that_wait_are_listed_edited_and_dropped(world: World) -> None:
    world.script([{"wait": 60}], loop=True)
    client = await world.server()
    first = asyncio.ensure_future(client.run("smith.turn", text="one"))
    await client.event("llm_request_started")
    names = [(await client.run("smith.turn", text=text, wait=False))["queued"] for text in ("two", "three", "four")]
    assert await queue(client) == [("two", False), ("three", False), ("four", False)]
    assert await queue(client, "edit", id=names[1], text="drei") == [("two", False), ("drei", False), ("four", False)]
    edited = await client.event("prompt_edited")
    assert (edited["id"], edited["text"]) == (names[1], "drei")
    dropped = await client.run("smith.queue", op="drop", id=names[0])
    assert (dropped["text"], [each["id"] for each in dropped["prompts"]]) == ("two", names[1:])
    assert (await client.event("prompt_dropped"))["id"] == names[0]
    assert await refused(client, "smith.queue", op="drop", id=names[0]) == ("schema", "unknown_id")
    assert await refused(client, "smith.queue", op="edit", id=names[1], text=" ") == ("schema", "empty")
    assert await refused(client, "smith.queue", op="eat") == ("schema", "invalid_arguments")
    client.process.send_signal(signal.SIGKILL)
    await client.process.wait()
    assert first.cancel()
    world.script(GOOD, loop=True)
    again = await world.server()
    assert [event["text"] for event in (await conversations(again, "load"))["events"][-2:]] == ["drei", "four"]
    await again.run("smith.turn", text="five")
    assert await users(again) == ["one", "drei", "four", "five"]


async def test_words_for_a_running_turn_are_stored_before_they_are_acknowledged(world: World) -> None:
    world.script([{"wait": 60}])
    client = await world.server()
    running = asyncio.ensure_future(client.run("smith.turn", text="one"))
    await client.event("llm_request_started")
    steered = await client.run("smith.steer", text="use the other file")
    client.process.send_signal(signal.SIGKILL)
    await client.process.wait()
    assert running.cancel()
    again = await world.server()
    events = (await conversations(again, "load"))["events"]
    assert (events[-1]["kind"], events[-1]["id"], events[-1]["text"]) == (
        "prompt_queued",
        steered["id"],
        "use the other file",
    )


async def test_words_are_taken_between_two_requests_and_can_be_changed_until_then(world: World) -> None:
    world.script([call("bash", command="true")], GOOD, GOOD)
    client = await world.server()
    turn = asyncio.ensure_future(client.run("smith.turn", text="one"))
    asked = await client.event("approval_asked")
    names = [(await client.run("smith.steer", text=text))["id"] for text in ("use a.py", "quickly")]
    assert await queue(client, "edit", id=names[0], text="use b.py") == [("use b.py", True), ("quickly", True)]
    assert await queue(client, "drop", id=names[1]) == [("use b.py", True)]
    await client.run("smith.answer", id=asked["id"], decision="no")
    assert (await turn)["text"] == "All is well."
    assert (await client.event("prompt_taken"))["id"] == names[0]
    assert await users(client) == ["one", "use b.py"]
    assert await queue(client) == []
    steered = await client.run("smith.steer", text="two")
    await client.event("turn_completed", turn="t000002")
    assert await users(client) == ["one", "use b.py", "two"]
    assert steered["id"]


async def test_the_status_tells_what_a_status_line_needs(world: World) -> None:
    world.script(
        [{"usage": {"input": 900, "output": 20}}, call("code_files", query="*")],
        [{"usage": {"input": 900, "output": 20}}, {"text": "Done."}],
    )
    client = await world.server()
    await client.run("smith.turn", text="one", role="orchestrator", model="small")
    status = await client.run("smith.status")
    (session,) = status["sessions"]
    assert (session["state"], session["busy"], session["role"], session["mode"], session["model"]) == (
        "idle",
        False,
        "direct",
        "prompt",
        "small",
    )
    assert (session["context"], session["usage"]["requests"], session["provider"]) == (900, 2, "scripted")
    assert session["ceiling"] > 900
    assert session["cost"] == 0


async def test_questions_of_every_conversation_wait_in_one_list(world: World) -> None:
    world.script([call("bash", command="true")], loop=True)
    client = await world.server()
    names = []
    turns = []
    for text in ("a", "b"):
        names.append((await conversations(client, "new"))["conversation"])
        turns.append(asyncio.ensure_future(client.run("smith.turn", text=text, conversation=names[-1])))
        await client.event("approval_asked", conversation=names[-1])
    status = await client.run("smith.status")
    assert [(each["conversation"], each["kind"]) for each in status["attention"]] == [
        (name, "approval_asked") for name in names
    ]
    assert [each["attention"] for each in status["sessions"]] == [[each["id"]] for each in status["attention"]]
    await client.run("smith.cancel", conversation=names[0])
    status = await client.run("smith.status")
    assert [each["conversation"] for each in status["attention"]] == names[1:]
    assert [each["state"] for each in status["sessions"]] == ["idle", "tool"]
    await client.run("smith.cancel", conversation=names[1])
    assert [(await turn)["stop_reason"] for turn in turns] == ["cancelled", "cancelled"]


async def test_events_after_a_gap_are_told_again(world: World) -> None:
    world.script([{"text": "Hello there.", "size": 3}])
    client = await world.server()
    await client.run("smith.turn", text="hi")
    status = await client.run("smith.status", since=3)
    assert status["events"] == [event for event in client.events if event["seq"] > 3]
    assert status["seq"] == client.events[-1]["seq"]
    assert (await client.run("smith.status", since=status["seq"]))["events"] == []
    # A number of an earlier server.
    assert (await client.run("smith.status", since=status["seq"] + 1))["resync"] is True


async def test_one_child_is_ended_and_its_parent_goes_on(world: World) -> None:
    world.script(
        [dispatch("worker", "do a"), dispatch("worker", "do b")],
        [{"text": "One of them is done."}],
        others={
            "do a": [[{"text": "Hm."}, {"wait": 60}]],
            "do b": [[{"wait": 0.2}, call("report", status="ok", summary="b", changes="none", verification=[])]],
        },
    )
    client = await world.server()
    turn = asyncio.ensure_future(client.run("smith.turn", text="go"))
    child = (await client.event("llm_output_delta", text="Hm."))["job"]
    stopped = await client.run("smith.cancel", job=child)
    assert stopped["cancelled"] is True
    answer = await turn
    assert (answer["stop_reason"], answer["text"]) == ("completed", "One of them is done.")
    ends = {event["job"]: event["kind"] for event in client.events if event.get("job") and "turn_c" in event["kind"]}
    assert sorted(ends.values()) == ["turn_cancelled", "turn_completed"]
    assert ends[child] == "turn_cancelled"
    assert (await client.run("smith.cancel", job=child))["cancelled"] is False


async def test_arguments_of_a_turn_hold_for_it_alone_and_unknown_ones_are_refused(world: World) -> None:
    path = world.file("a.py", "import os\n")
    world.script(GOOD, loop=True)
    client = await world.server()
    where = {"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 9}}
    diagnostics = [{"range": where, "message": "unused", "severity": 2, "source": "lint", "code": "F401"}]
    context = {"uri": path.as_uri(), "range": where, "diagnostics": diagnostics}
    await client.run("smith.turn", text="fix", role="orchestrator", context=context)
    (prompt, _) = (await client.run("smith.inspect"))["messages"]
    assert prompt["content"]["attached"] == (
        f"[In the editor: {path}, line 1]\n[Problems that the editor shows:]\n"
        "- line 1: warning from lint (F401): unused"
    )
    assert (await client.run("smith.status"))["sessions"][0]["role"] == "direct"
    assert await refused(client, "smith.turn", text="x", role="worker") == ("policy", "unknown_role")
    assert await refused(client, "smith.turn", text="x", mode="plan") == ("schema", "not_supported")
    assert await refused(client, "smith.turn", text="x", attachments=["a.png"]) == ("schema", "not_supported")
