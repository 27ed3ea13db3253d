"""Commands in the background through the real server: seen, read and ended by the person, never left behind."""

import asyncio
import secrets
import signal
import sys
from typing import Any

import pytest

from tests.e2e.client import Client, RpcError
from tests.e2e.command import smith
from tests.e2e.processes import gone, living, until
from tests.e2e.world import World


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


@pytest.fixture
def mark() -> str:
    return f"1000.{secrets.randbelow(10**9):09d}"


async def test_a_person_lists_reads_and_ends_what_runs_in_the_background(world: World, mark: str) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.environ["LINKUP_API_KEY"] = "key-of-linkup"
    command = f"echo key-of-linkup $LINKUP_API_KEY; sleep {mark}; true"
    world.script([call("bash", command=command, background=True)], [{"text": "It runs."}])
    client = await world.server()
    assert (await client.run("smith.jobs", op="list"))["jobs"] == []
    await client.run("smith.turn", text="serve")
    await until(lambda: len(living(f"sleep {mark}")) == 2, 10)
    shown = command.replace("key-of-linkup", "[key]", 1)
    started = await client.event("job_started", id="bash-1")
    assert started["command"] == shown
    async with asyncio.timeout(10):
        while not (job := (await client.run("smith.jobs", op="list"))["jobs"][0])["bytes"]:
            pass
    assert {name: job[name] for name in ("id", "command", "state", "exit_code", "bytes")} == {
        "id": "bash-1", "command": shown, "state": "running", "exit_code": None, "bytes": 14
    }  # fmt: skip
    output = await client.run("smith.jobs", op="output", id="bash-1")
    assert (output["text"], output["next"], output["lost"]) == ("[key]\n", 14, 0)
    assert (await client.run("smith.jobs", op="output", id="bash-1", since=14))["text"] == ""
    killed = await client.run("smith.jobs", op="kill", id="bash-1")
    assert (killed["state"], living(mark)) == ("killed", [])
    assert (await client.event("job_ended", id="bash-1"))["state"] == "killed"
    for argument in ({"op": "kill", "id": "bash-9"}, {"op": "stop"}):
        with pytest.raises(RpcError):
            await client.run("smith.jobs", **argument)


async def test_the_model_is_told_when_a_job_has_ended_by_itself(world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    command = "until [ -e go ]; do sleep 0.02; done; echo out; exit 3"
    steps = [call("bash", command=command, background=True)]
    world.script(steps, [{"text": "Started."}], [call("bash_output", id="bash-1")], [{"text": "Seen."}])
    client = await world.server()
    await client.run("smith.turn", text="start")
    world.file("go", "")
    ended = await client.event("job_ended")
    assert (ended["turn"], ended["state"], ended["exit_code"]) == ("", "exited", 3)
    await client.run("smith.turn", text="and now?")
    listed = await client.run("smith.inspect", op="list")
    said = [message["content"].get("text") for message in listed["messages"] if message["role"] == "user"]
    assert "[bash-1 has ended: exit code 3. bash_output shows what it wrote.]" in said
    (result,) = [
        each for each in client.events if each["kind"] == "tool_call_finished" and each["name"] == "bash_output"
    ]
    assert result["content"].splitlines()[1:] == ["out"]


@pytest.mark.parametrize("how", ["shutdown", "SIGHUP", "closed input", "SIGKILL"])
async def test_nothing_of_a_job_is_left_however_the_server_ends(world: World, mark: str, how: str) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    leaves = f"setsid sleep {mark} & sleep {mark}" if sys.platform == "linux" else f"sleep {mark} & sleep {mark}"
    command = f"trap '' TERM; {leaves}; while :; do sleep 1; done # {mark}"
    world.script([call("bash", command=command, background=True)], [{"text": "It runs."}])
    client = await world.server()
    await client.run("smith.turn", text="serve")
    await until(lambda: len(living(mark)) >= 3, 10)
    await end(client, how)
    await gone(mark, 5)
    if how != "SIGKILL":
        assert list((world.home / "smith" / "jobs").iterdir()) == []


async def end(client: Client, how: str) -> None:
    match how:
        case "shutdown":
            await client.stop()
            return
        case "closed input":
            assert client.process.stdin is not None
            client.process.stdin.close()
        case name:
            client.process.send_signal(getattr(signal, name))
    await asyncio.wait_for(client.process.wait(), 10)


async def test_the_jobs_of_a_child_end_with_the_child(world: World, mark: str) -> None:
    world.settings('active_role = "orchestrator"\n[approval]\nmode = "auto"\n')
    work = [
        [call("bash", command=f"sleep {mark}", background=True)],
        [call("report", status="ok", summary="done", changes="none", verification=[])],
    ]
    world.script([call("dispatch", role="worker", task="serve it")], [{"text": "Done."}], others={"serve it": work})
    client = await world.server()
    await client.run("smith.turn", text="go")
    assert living(mark) == []
    started, ended = await client.event("job_started"), await client.event("job_ended")
    assert started["job"] == ended["job"] != ""
    kinds = client.kinds()
    assert kinds.index("job_ended") < kinds.index("dispatch_finished")


async def test_a_plan_is_shown_kept_and_there_again_after_a_restart(world: World) -> None:
    plan = [{"content": "look", "status": "completed"}, {"content": "do", "status": "in_progress"}]
    world.script([call("todo_write", todos=plan)], [{"text": "Planned."}])
    client = await world.server()
    await client.run("smith.turn", text="plan")
    assert (await client.event("todos_updated"))["todos"] == plan
    assert (await client.run("smith.slash", line="/todos"))["text"] == "[x] look\n[>] do"
    await client.stop()
    again = await world.server(initializationOptions={"resume": "project"})
    assert (await again.run("smith.slash", line="/todos"))["data"] == {"todos": plan}
    assert (await again.event("todos_updated"))["todos"] == plan
    loaded = (await again.run("smith.conversations", op="load"))["events"]
    assert [event["todos"] for event in loaded if event["kind"] == "todos_updated"] == [plan]
    world.script([{"text": "Well."}])
    await again.run("smith.turn", text="go on")
    assert (await again.run("smith.slash", line="/todos"))["data"] == {"todos": plan}


async def test_a_run_of_a_script_leaves_no_log_and_no_job_and_only_lines_of_json(world: World, mark: str) -> None:
    world.script([call("bash", command=f"sleep {mark}", background=True)], [{"text": "It runs."}])
    done = await smith(world, "run", "--json", "--yes", "go")
    assert (done.code, living(mark)) == (0, [])
    assert [line["type"] for line in done.lines if "job" in line["type"]] == ["bash_job_started", "bash_job_exited"]
    assert done.lines[-1]["type"] == "result"
    assert list((world.home / "smith" / "jobs").iterdir()) == []


@pytest.mark.parametrize(("allowed", "seen"), [("", "0"), ('allowed_keys = ["OPENAI_API_KEY"]', "10")])
async def test_a_key_is_in_the_environment_of_commands_only_where_the_person_says_so(
    world: World, allowed: str, seen: str
) -> None:
    world.settings(f"[bash]\n{allowed}\n")
    world.environ["OPENAI_API_KEY"] = "0123456789"
    world.script([call("bash", command="echo ${#OPENAI_API_KEY}")], [{"text": "Well."}])
    (result,) = (await smith(world, "run", "--json", "--yes", "go")).only("tool_finished")
    assert result["result"] == seen
