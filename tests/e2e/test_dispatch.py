"""Sub-agents through the real server: side by side, nested, reported, cancelled, kept."""

import asyncio
import json
import secrets
from typing import Any

from tests.e2e.client import Client
from tests.e2e.processes import gone, living, until
from tests.e2e.world import World

Steps = list[dict[str, Any]]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def dispatch(role: str, task: str) -> dict[str, Any]:
    return call("dispatch", role=role, task=task, context={"user_request_summary": "tidy up"})


def report(**fields: Any) -> Steps:
    return [call("report", **{"status": "ok", "summary": "done", **fields})]


async def results(client: Client, name: str = "dispatch") -> list[dict[str, Any]]:
    return [
        event
        for event in client.events
        if event["kind"] == "tool_call_finished" and event["name"] == name and "job" not in event
    ]


async def test_two_workers_side_by_side_each_with_an_explorer(world: World) -> None:
    world.settings('active_role = "orchestrator"\n[approval]\nmode = "auto"\n')
    world.file("a.py", "one\n")
    world.file("b.py", "two\n")
    worker = {
        name: [
            [dispatch("explorer", f"look at {name}")],
            [call("read", path=f"{name}.py")],
            [call("write", path=f"{name}.new", content=name)],
            report(changes=f"made {name}.new", verification=[]),
        ]
        for name in ("a", "b")
    }
    world.script(
        [dispatch("worker", "do a"), dispatch("worker", "do b")],
        [{"text": "Both are done."}],
        others={
            "look at a": [[call("read", path="a.py")], report(findings=["one line"], evidence=["a.py:1"])],
            "look at b": [[call("read", path="b.py")], report(findings=["one line"], evidence=["b.py:1"])],
            "do a": worker["a"],
            "do b": worker["b"],
        },
    )
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    answer = await client.run("smith.turn", text="tidy up")
    assert (answer["stop_reason"], answer["text"]) == ("completed", "Both are done.")
    assert [(world.root / name).read_text() for name in ("a.new", "b.new")] == ["a", "b"]
    listed = await client.run("smith.inspect", op="list")
    stored = [message["content"] for message in listed["messages"] if message["role"] == "tool"]
    reports = [json.loads(message["content"]) for message in stored]
    assert [(each["role"], each["status"], each["changes"]) for each in reports] == [
        ("worker", "ok", ["made a.new"]),
        ("worker", "ok", ["made b.new"]),
    ]
    started = [event for event in client.events if event["kind"] == "dispatch_started"]
    assert sorted((event["target_role"], event.get("role", "")) for event in started) == [
        ("explorer", "worker"),
        ("explorer", "worker"),
        ("worker", ""),
        ("worker", ""),
    ]
    jobs = {event["child"] for event in started}
    assert len(jobs) == 4
    assert {event["job"] for event in client.events if "job" in event} >= jobs
    assert client.kinds()[-1] == "turn_completed"
    recalled = await client.run("smith.slash", line=f"/scratchpad get dispatch/{reports[0]['job_id']}")
    assert json.loads(recalled["text"])["summary"] == "done"


async def test_a_child_that_forgets_its_report_is_reminded_once_and_then_partial(world: World) -> None:
    world.script(
        [dispatch("explorer", "look around")],
        [{"text": "I see."}],
        others={"look around": [[{"text": "It is all fine."}], [{"text": "As I said."}]]},
    )
    client = await world.server()
    await client.run("smith.turn", text="look")
    told = json.loads((await results(client))[0]["content"])
    assert (told["status"], told["limitations"]) == ("partial", ["As I said."])
    assert json.loads(told["error"])["code"] == "missing_report"


async def test_a_rejected_report_lets_the_child_go_on(world: World) -> None:
    world.script(
        [dispatch("explorer", "look around")],
        [{"text": "I see."}],
        others={"look around": [report(findings=["it leaks"]), report(findings=["it leaks"], evidence=["a.py:3"])]},
    )
    client = await world.server()
    await client.run("smith.turn", text="look")
    told = json.loads((await results(client))[0]["content"])
    assert (told["status"], told["evidence"]) == ("ok", ["a.py:3"])


async def test_a_role_that_may_not_be_sent_is_a_refusal_and_a_denied_tool_too(world: World) -> None:
    world.script(
        [dispatch("orchestrator", "lead"), call("report", status="ok", summary="no")],
        [{"text": "So."}],
    )
    client = await world.server()
    await client.run("smith.turn", text="look")
    finished = [event["code"] for event in client.events if event["kind"] == "tool_call_finished"]
    assert finished == ["dispatch_denied", "unknown_tool"]


async def test_a_cancel_stops_every_child_and_keeps_what_they_found(world: World) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script(
        [dispatch("worker", "do a"), dispatch("explorer", "look around")],
        [{"text": "The next turn works."}],
        others={
            "do a": [[{"text": "I start."}, call("bash", command=f"sleep {mark}")]],
            "look around": [[{"text": "So far so good."}, {"wait": 60}]],
        },
    )
    client = await world.server()
    _, turn = client.command("smith.turn", text="go")
    await until(lambda: bool(living(f"sleep {mark}")) and "So far" in client.text(), 10)
    stopped = await asyncio.wait_for(client.run("smith.cancel"), 2)
    assert stopped["cancelled"]
    assert (await turn)["stop_reason"] == "cancelled"
    await gone(mark, 0.5)
    reports = [json.loads(event["content"]) for event in await results(client)]
    assert [(each["status"], each["cancelled"]) for each in reports] == [("blocked", True), ("blocked", True)]
    after = await client.run("smith.turn", text="again")
    assert after["text"] == "The next turn works."
