"""Stored messages looked at and changed over the wire, without a plug-in."""

import asyncio
import json
import sqlite3
from typing import Any

from llmock.pytest_plugin import LLMock

from tests.e2e.client import Client
from tests.e2e.test_conversations import refused
from tests.e2e.test_dispatch import call
from tests.e2e.world import World

GOOD = [{"text": "All is well."}]


async def inspect(client: Client, op: str = "list", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await client.run("smith.inspect", op=op, **more)
    return answer


def ids(answer: dict[str, Any]) -> list[str]:
    return [each["id"] for each in answer["messages"]]


async def test_messages_are_listed_with_linkage_hash_and_size_page_by_page(world: World) -> None:
    world.file("a.py", "one\n")
    world.script([call("read", path="a.py")], GOOD, loop=True)
    client = await world.server()
    await client.run("smith.turn", text="look")
    await client.run("smith.turn", text="again")
    newest = await inspect(client, limit=1)
    assert ids(newest) == [f"t000002.000{number}" for number in (1, 2, 3, 4)]
    older = await inspect(client, limit=1, before=newest["before"])
    assert (ids(older), older["before"]) == ([f"t000001.000{number}" for number in (1, 2, 3, 4)], "")
    user, reply, result, last = newest["messages"]
    assert reply["calls"][0]["id"] == result["call_id"]
    assert (user["size"], last["size"], last["content"]["parts"][0]["text"]) == (5, 12, "All is well.")
    assert len({each["hash"] for each in (user, reply, result, last)}) == 4


async def test_a_changed_message_is_what_is_sent_found_and_shown_from_then_on(world: World) -> None:
    world.script(GOOD, loop=True)
    client = await world.server()
    name = (await client.run("smith.turn", text="about the zebra"))["conversation"]
    (prompt, _) = (await inspect(client))["messages"]
    assert await refused(
        client, "smith.inspect", op="edit", message=prompt["id"], text="x", expect="0123456789abcdef"
    ) == ("persistence", "changed")
    changed = await inspect(client, "edit", message=prompt["id"], text="about the okapi", expect=prompt["hash"])
    assert (changed["message"]["id"], changed["message"]["text"]) == (prompt["id"], "about the okapi")
    assert changed["message"]["hash"] != prompt["hash"]
    event = await client.event("conversation_changed")
    assert (event["conversation"], event["change"]) == (name, "rewritten")
    found = [(await client.run("smith.slash", line=f"/search {word}"))["text"] for word in ("zebra", "okapi")]
    assert (found[0], "okapi" in found[1]) == ("Nothing was found.", True)
    request = await inspect(client, "request", text="next")
    assert [each.get("text") for each in request["request"]["messages"]] == ["about the okapi", None, "next"]


async def test_a_deleted_call_takes_its_results_along_and_the_rest_is_valid(world: World) -> None:
    world.file("a.py", "one\n")
    world.script([call("read", path="a.py"), call("read", path="a.py")], GOOD, GOOD)
    client = await world.server()
    await client.run("smith.turn", text="look")
    _, reply, first, *_ = ids(await inspect(client))
    blanked = await inspect(client, "delete", message=first)
    assert blanked["deleted"] == []
    assert "[deleted]" in [each["content"].get("content") for each in (await inspect(client))["messages"]]
    gone = await inspect(client, "delete", message=reply)
    assert gone["deleted"] == ["t000001.0002", "t000001.0003", "t000001.0004"]
    assert ids(await inspect(client)) == ["t000001.0001", "t000001.0005"]
    assert (await client.run("smith.conversations", op="list"))["conversations"][0]["message_count"] == 2
    # The scripted provider refuses what no server would take.
    assert (await client.run("smith.turn", text="and now?"))["stop_reason"] == "completed"
    with sqlite3.connect(world.home / "smith" / "smith.db") as connection:
        assert connection.execute("SELECT sum(requests) FROM usage").fetchone() == (3,)
    assert await refused(client, "smith.inspect", op="delete", message=reply) == ("schema", "not_found")
    assert await refused(client, "smith.inspect", op="edit", text="x") == ("schema", "invalid_arguments")
    assert await refused(client, "smith.inspect", op="eat") == ("schema", "invalid_arguments")


async def test_nothing_is_changed_while_a_turn_runs(world: World) -> None:
    world.script(GOOD, [{"wait": 60}])
    client = await world.server()
    await client.run("smith.turn", text="one")
    turn = asyncio.ensure_future(client.run("smith.turn", text="two"))
    await client.event("llm_request_started", turn="t000002")
    for op in ("edit", "delete"):
        told = await refused(client, "smith.inspect", op=op, message="t000001.0001", text="x")
        assert told == ("policy", "turn_active")
    assert len((await inspect(client, "request"))["request"]["messages"]) == 3
    await client.run("smith.cancel")
    await turn
    assert (await inspect(client, "edit", message="t000001.0001", text="x"))["message"]["text"] == "x"


async def test_the_next_request_is_exactly_what_is_sent_then(world: World) -> None:
    world.file("long.txt", "x" * 5000 + "\n")
    world.settings("[context_management]\ntool_output_keep_rounds = 1\nelide_step = 1\nelide_min_gain_pct = 0\n")
    world.script([call("read", path="long.txt")], [call("read", path="long.txt")], GOOD, GOOD)
    client = await world.server()
    await client.run("smith.turn", text="one")
    found = await inspect(client, "request", text="two")
    assert (found["provider"], found["request"]["model"], found["elided"], found["dropped"]) == (
        "scripted",
        "script",
        1,
        0,
    )
    assert [part["part"] for part in found["parts"]] == [
        "system",
        "tools",
        *ids(await inspect(client)),
        "prompt",
    ]
    sizes = {part["part"]: part["size"] for part in found["parts"]}
    assert sizes["system"] == len(found["request"]["system"])
    assert sizes["prompt"] == 3
    assert 0 <= sum(part["tokens"] for part in found["parts"]) - found["tokens"] < len(found["parts"])
    assert found["ceiling"] >= found["tokens"] > 0
    page = (await client.run("smith.slash", line="/prompt"))["ui"]["content"]
    assert found["request"]["system"] == page
    again = await inspect(client, "request", text="two")
    assert json.dumps(again) == json.dumps(found)


async def test_the_server_of_the_model_gets_that_very_request(world: World, model: LLMock) -> None:
    world.use(model)
    model.reply("one")
    model.reply("two")
    client = await world.server()
    await client.run("smith.turn", text="first")
    request = (await inspect(client, "request", text="second"))["request"]
    await client.run("smith.turn", text="second")
    sent = model.requests[-1].body
    assert [message["content"] for message in sent["messages"] if message["role"] == "system"] == [request["system"]]
    assert [tool["function"]["name"] for tool in sent["tools"]] == [tool["name"] for tool in request["tools"]]
    assert [message["content"] for message in sent["messages"][1:]] == ["first", "one", "second"]
    assert [message.get("text") for message in request["messages"]] == ["first", None, "second"]
