"""What a sub-agent is given, what it may do, and what becomes of its report."""

import json
from typing import Any

import apsw
import pytest

from smith_server.core.messages import ToolMessage
from smith_server.store import jobs, notes, usage
from smith_server.store.opening import Place, open_store
from tests.e2e.client import Client
from tests.e2e.strict_model import Reply, StrictModel
from tests.e2e.world import World
from tests.store.builders import replayed

SECRET = "Nobody but the orchestrator hears this."


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def dispatch(role: str, task: str, **more: Any) -> dict[str, Any]:
    return call("dispatch", role=role, task=task, **more)


def report(**fields: Any) -> Reply:
    return [call("report", **{"status": "ok", "summary": "done", **fields})]


async def turn(world: World, strict: StrictModel, prompt: str = "go") -> tuple[Client, dict[str, Any]]:
    world.use_at(strict.url)
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    return client, await client.run("smith.turn", text=prompt)


def opened(world: World) -> apsw.Connection:
    return open_store(Place(world.home / "smith" / "smith.db")).connection


def told(world: World, answer: dict[str, Any]) -> list[ToolMessage]:
    """The results that the conversation itself got."""
    messages = replayed(opened(world), answer["conversation"]).messages
    return [message for message in messages if isinstance(message, ToolMessage)]


async def test_a_child_is_told_its_task_and_nothing_of_the_conversation(world: World, strict: StrictModel) -> None:
    about = {"user_request_summary": "a tidy project", "role_instructions": "Be quick."}
    sent = dispatch("worker", "do the part", context=about, files=["b.py", "a.py"])
    strict.play({"do the part": [report()], "": [[{"text": "On it."}, sent], [{"text": "Fine."}]]})
    _, answer = await turn(world, strict, SECRET)
    assert (answer["text"], strict.refused) == ("Fine.", [])
    (body,) = strict.of("do the part")
    system, task = body["messages"]
    assert task["content"] == (
        "## Task\ndo the part\n\n## What the user asked for\na tidy project\n\n"
        "## How to go about it\nBe quick.\n\n## Files to look at\n- a.py\n- b.py"
    )
    assert "in the role of a worker" in system["content"]
    assert SECRET not in json.dumps(body)
    assert "do the part" not in json.dumps(strict.bodies[0])


async def test_a_role_is_offered_its_own_tools_alone(world: World, strict: StrictModel) -> None:
    strict.play(
        {
            "look": [report(findings=[], evidence=[])],
            "do it": [[dispatch("explorer", "look")], report()],
            "": [[dispatch("worker", "do it")], [{"text": "Fine."}]],
        }
    )
    await turn(world, strict)
    assert strict.refused == []
    offered = {
        role: {tool["function"]["name"] for tool in strict.of(prompt)[0]["tools"]}
        for role, prompt in (("direct", "go"), ("worker", "do it"), ("explorer", "look"))
    }
    assert {"edit", "write", "bash", "dispatch", "record", "recall", "note"} <= offered["direct"]
    assert not {"report", "git"} & offered["direct"]
    assert {"edit", "write", "bash", "dispatch", "report"} <= offered["worker"]
    assert not {"record", "recall", "note", "git"} & offered["worker"]
    assert {"read", "bash", "report"} <= offered["explorer"]
    assert not {"edit", "replace", "write", "dispatch", "record", "recall", "note", "git"} & offered["explorer"]


async def test_a_tool_that_was_never_offered_is_refused_when_it_is_called(world: World, strict: StrictModel) -> None:
    denied = [call("write", path="a", content="b"), call("record", key="k", value="v"), dispatch("worker", "x")]
    strict.play({"look": [denied, report()], "": [[dispatch("explorer", "look")], [{"text": "Fine."}]]})
    world.settings('[approval]\nmode = "auto"\n')
    client, _ = await turn(world, strict)
    codes = [event["code"] for event in client.events if event["kind"] == "tool_call_finished" and "job" in event]
    assert codes == ["tool_denied", "tool_denied", "tool_denied", ""]
    assert not (world.root / "a").exists()


async def test_a_report_is_the_result_and_is_kept_under_the_job(world: World, strict: StrictModel) -> None:
    found = report(findings="it leaks", evidence=["a.py:3"], limitations=None, changes=["none of mine"])
    strict.play({"look": [found], "": [[dispatch("explorer", "look")], [{"text": "Fine."}]]})
    _, answer = await turn(world, strict)
    (result,) = told(world, answer)
    (job,) = jobs.listed(opened(world), answer["conversation"])
    given = json.loads(result.content)
    assert {name: given[name] for name in ("job_id", "role", "status", "findings", "evidence")} == {
        "job_id": job.id,
        "role": "explorer",
        "status": "ok",
        "findings": ["it leaks"],
        "evidence": ["a.py:3"],
    }
    assert not given.get("changes")
    assert given["usage"]["requests"] == 1
    assert result.recall_key == f"dispatch/{job.id}"
    kept = notes.get(opened(world), answer["conversation"], f"scratchpad:dispatch/{job.id}")
    assert kept == result.content
    rows = {row.tail: row for row in usage.by_tail(opened(world), answer["conversation"])}
    assert (rows[job.id].role, rows[job.id].usage.requests, rows["parent"].usage.requests) == ("explorer", 1, 2)


async def test_a_report_that_cannot_be_kept_is_delivered_without_a_key(world: World, strict: StrictModel) -> None:
    strict.play({"look": [report()], "": [[dispatch("explorer", "look")], [{"text": "Fine."}]]})
    world.use_at(strict.url)
    client = await world.server()
    with opened(world) as connection:
        connection.execute("CREATE TRIGGER full BEFORE INSERT ON note BEGIN SELECT RAISE(ABORT, 'full'); END")
    answer = await client.run("smith.turn", text="go")
    (result,) = told(world, answer)
    assert (result.ok, result.recall_key, json.loads(result.content)["status"]) == (True, "", "ok")


async def test_the_key_of_a_report_outlives_the_process_and_is_not_sent(world: World, strict: StrictModel) -> None:
    summary = "found " + "much " * 300
    strict.play({"look": [report(summary=summary)], "": [[dispatch("explorer", "look")], [{"text": "Fine."}]]})
    world.settings("[context_management]\ntool_output_keep_rounds = 0\nelide_step = 1\nelide_min_gain_pct = 0\n")
    client, answer = await turn(world, strict)
    (result,) = told(world, answer)
    await client.stop()
    strict.play({"": [[{"text": "Still there."}]]})
    again = await world.server()
    resumed = await again.run("smith.turn", text="and now?")
    assert (resumed["conversation"], resumed["text"]) == (answer["conversation"], "Still there.")
    length = len(result.content)
    (sent,) = [message for message in strict.requests[-1] if message["role"] == "tool"]
    assert set(sent) == {"role", "tool_call_id", "content"}
    assert sent["content"] == (
        f'[elided {length} chars of tool output; retrieve with recall(key="{result.recall_key}")]'
    )
    assert told(world, resumed) == [result]


async def test_no_more_children_run_side_by_side_than_is_set(world: World, strict: StrictModel) -> None:
    world.settings("[subagents]\nmax_parallel = 1\n")
    slow = [[call("read", path="none")], report()]
    strict.play(
        {
            "do a": list(slow),
            "do b": list(slow),
            "": [[dispatch("worker", "do a"), dispatch("worker", "do b")], [{"text": "x"}]],
        }
    )
    _, answer = await turn(world, strict)
    prompts = [body["messages"][1]["content"].split("\n")[1] for body in strict.bodies[1:-1]]
    assert prompts in (["do a", "do a", "do b", "do b"], ["do b", "do b", "do a", "do a"])
    assert [json.loads(result.content)["status"] for result in told(world, answer)] == ["ok", "ok"]


async def test_a_child_too_many_is_blocked_and_says_why(world: World, strict: StrictModel) -> None:
    world.settings("[subagents]\nmax_children = 1\n")
    sent = [dispatch("worker", "do it"), dispatch("worker", "do it")]
    strict.play({"do it": [report()], "": [sent, [{"text": "Fine."}]]})
    _, answer = await turn(world, strict)
    given = [json.loads(result.content) for result in told(world, answer)]
    assert sorted(each["status"] for each in given) == ["blocked", "ok"]
    (error,) = [json.loads(each["error"]) for each in given if each["status"] == "blocked"]
    assert (error["kind"], error["code"]) == ("policy", "spawn_limit")
    assert (answer["text"], len(strict.of("do it"))) == ("Fine.", 1)


@pytest.mark.parametrize(
    ("limit", "offered"),
    [("max_depth = 1", (True, False)), ("max_depth = 2", (True, True)), ("max_children = 1", (True, True))],
)
async def test_who_may_never_send_anybody_is_not_offered_to(
    world: World, strict: StrictModel, limit: str, offered: tuple[bool, bool]
) -> None:
    world.settings(f"[subagents]\n{limit}\n")
    strict.play({"do it": [report()], "": [[dispatch("worker", "do it")], [{"text": "Fine."}]]})
    await turn(world, strict)
    names = [[tool["function"]["name"] for tool in body["tools"]] for body in (strict.bodies[0], strict.of("do it")[0])]
    assert tuple("dispatch" in each for each in names) == offered


@pytest.mark.parametrize("limit", ["max_depth = 0", "max_children = 0"])
async def test_without_any_room_nobody_is_sent(world: World, strict: StrictModel, limit: str) -> None:
    world.settings(f"[subagents]\n{limit}\n")
    strict.play({"": [[dispatch("worker", "do it")], [{"text": "Fine."}]]})
    _, answer = await turn(world, strict)
    assert "dispatch" not in [tool["function"]["name"] for tool in strict.bodies[0]["tools"]]
    assert (answer["text"], len(strict.bodies)) == ("Fine.", 2)


async def test_a_child_has_a_budget_of_its_own_and_may_always_report(world: World, strict: StrictModel) -> None:
    world.settings("tool_step_budget = 2\n")
    reads: list[Reply] = [[call("read", path="none")], [call("read", path="none")]]
    strict.play({"look": [*reads, report()], "": [[dispatch("explorer", "look")], *reads[:1], [{"text": "Fine."}]]})
    _, answer = await turn(world, strict)
    assert (answer["stop_reason"], json.loads(told(world, answer)[0].content)["status"]) == ("completed", "ok")


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ([[call("read", path="1"), call("read", path="2"), call("read", path="3")]], "tool_step_budget"),
        ([], "bad_request"),
    ],
    ids=["out of budget", "refused by its provider"],
)
async def test_a_child_that_cannot_go_on_says_why(
    world: World, strict: StrictModel, replies: list[Reply], code: str
) -> None:
    world.settings("tool_step_budget = 2\n")
    strict.play({"look": replies, "": [[dispatch("explorer", "look")], [{"text": "Fine."}]]})
    _, answer = await turn(world, strict)
    given = json.loads(told(world, answer)[0].content)
    assert given["status"] != "ok"
    assert json.loads(given["error"])["code"] == code
    assert answer["text"] == "Fine."


async def test_what_a_child_says_is_tagged_and_is_not_the_answer(world: World, strict: StrictModel) -> None:
    strict.play({"look": [[{"text": "I look."}, *report()]], "": [[dispatch("explorer", "look")], [{"text": "Fine."}]]})
    client, answer = await turn(world, strict)
    said = [(event.get("role", ""), event["text"]) for event in client.events if event["kind"] == "llm_output_delta"]
    assert said == [("explorer", "I look."), ("", "Fine.")]
    started = [event.get("role", "") for event in client.events if event["kind"] == "llm_request_started"]
    assert started == ["", "explorer", ""]
    assert answer["text"] == "Fine."
    (job,) = jobs.listed(opened(world), answer["conversation"])
    tagged = {event["job"] for event in client.events if "job" in event}
    assert tagged == {job.id}
    assert [type(each).__name__ for each in replayed(opened(world), answer["conversation"], job.id).messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
    ]
