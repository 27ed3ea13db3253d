"""One long piece of work from end to end: children of children, a kill in the middle, elision and a recall."""

import json
import re
import secrets
import signal
from typing import Any

import apsw

from smith_server.core.messages import AssistantMessage, Call, ToolMessage
from smith_server.store import jobs, notes, usage
from smith_server.store.opening import Place, open_store
from tests.e2e.client import Client
from tests.e2e.processes import gone, living, until
from tests.e2e.strict_model import USAGE, Messages, Reply, StrictModel
from tests.e2e.world import World
from tests.store.builders import is_index_as_rebuilt, replayed

LINES = "".join(f"line {number} of a file with something in it\n" for number in range(150))
HINT = re.compile(r'\[elided \d+ chars of tool output; retrieve with recall\(key="(dispatch/\w+)"\)\]')
READS = 19


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def dispatch(role: str, task: str) -> dict[str, Any]:
    return call("dispatch", role=role, task=task, context={"user_request_summary": "tidy up"})


def reads(count: int) -> list[Reply]:
    return [[call("read", path=f"file{number}.txt")] for number in range(count)]


def explorer(part: str, count: int) -> list[Reply]:
    findings = [f"{part}: {line}" for line in LINES.splitlines()[:40]]
    told = call("report", status="ok", summary=f"looked at {part}", findings=findings, evidence=["file0.txt:1"])
    return [*reads(count), [told]]


def worker(part: str, *rest: Reply) -> list[Reply]:
    return [[dispatch("explorer", f"explore {part}")], *rest]


def finished(part: str) -> list[Reply]:
    changes = [f"{part}: {line}" for line in LINES.splitlines()[:60]]
    made = call("write", path=f"{part}.new", content=part)
    told = call("report", status="ok", summary=f"made {part}.new", changes=changes, verification="read it")
    return worker(part, [call("read", path="file1.txt")], [made], [told])


def recalled(messages: Messages) -> dict[str, Any]:
    """The arguments that a model takes out of the note in place of an old report."""
    found = [HINT.fullmatch(str(message["content"])) for message in messages if message["role"] == "tool"]
    return {"key": next(match[1] for match in found if match)}


def before_the_kill(mark: str) -> dict[str, list[Reply]]:
    stuck = [*reads(2), [call("bash", command=f"sleep {mark}")]]
    return {
        "explore a": explorer("a", 5),
        "explore b": explorer("b", 5),
        "change a": worker("a", *stuck),
        "change b": worker("b", *stuck),
        "": [[dispatch("worker", "change a"), dispatch("worker", "change b")]],
    }


def after_the_kill() -> dict[str, list[Reply]]:
    return {
        "explore a": explorer("a", 3),
        "explore b": explorer("b", 3),
        "change a": finished("a"),
        "change b": finished("b"),
        "": [
            [{"text": "Once more."}, dispatch("worker", "change a"), dispatch("worker", "change b")],
            *reads(READS),
            [{"call": "recall", "arguments": recalled}],
            [{"text": "Both parts are changed."}],
        ],
    }


async def server(world: World) -> Client:
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    return client


async def played(world: World, strict: StrictModel) -> str:
    """Everything: begun, killed, gone on with; the conversation."""
    world.settings('active_role = "orchestrator"\n[approval]\nmode = "auto"\n')
    world.use_at(strict.url)
    for number in range(READS):
        world.file(f"file{number}.txt", LINES)
    mark = f"60.{secrets.randbelow(10**9):09d}"
    strict.play(before_the_kill(mark))
    first = await server(world)
    first.command("smith.turn", text="Tidy up both parts.")
    await until(lambda: len(living(f"sleep {mark}")) >= 2, 20)
    first.process.send_signal(signal.SIGKILL)
    await first.process.wait()
    strict.play(after_the_kill())
    second = await server(world)
    answer = await second.run("smith.turn", text="Go on.")
    assert (answer["stop_reason"], answer["text"]) == ("completed", "Both parts are changed."), strict.refused
    await gone(mark)
    await second.stop()
    return str(answer["conversation"])


def calls(connection: apsw.Connection, talk: str, job: str = "") -> list[Call]:
    replies = [each for each in replayed(connection, talk, job).messages if isinstance(each, AssistantMessage)]
    return [call for reply in replies for call in reply.calls]


def tree(connection: apsw.Connection, talk: str, turn: str) -> list[tuple[str, int, str, str, str]]:
    """The children of a turn by role, depth, task, state, and the task of who sent them; siblings in their order."""
    found = jobs.listed(connection, talk, turn)
    tasks = {job.id: _task(job.task) for job in found} | {"": ""}
    for job in found:
        assert job.call in {call.id for call in calls(connection, talk, job.parent)}
    rows = [(job.role, job.depth, tasks[job.id], job.state, tasks[job.parent]) for job in found]
    return sorted(rows, key=lambda row: (row[1], row[2]))


def _task(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(("change", "explore")))


async def test_work_that_was_killed_in_the_middle_ends_with_the_right_tree(world: World, strict: StrictModel) -> None:
    talk = await played(world, strict)
    assert strict.refused == []
    assert [(world.root / name).read_text() for name in ("a.new", "b.new")] == ["a", "b"]
    connection = open_store(Place(world.home / "smith" / "smith.db")).connection
    assert tree(connection, talk, "t000001") == [
        ("worker", 1, "change a", "interrupted", ""),
        ("worker", 1, "change b", "interrupted", ""),
        ("explorer", 2, "explore a", "completed", "change a"),
        ("explorer", 2, "explore b", "completed", "change b"),
    ]
    assert tree(connection, talk, "t000002") == [
        ("worker", 1, "change a", "completed", ""),
        ("worker", 1, "change b", "completed", ""),
        ("explorer", 2, "explore a", "completed", "change a"),
        ("explorer", 2, "explore b", "completed", "change b"),
    ]
    children = jobs.listed(connection, talk)
    made = [each for job in ("", *(child.id for child in children)) for each in calls(connection, talk, job)]
    assert len(made) == 60
    assert_usage(connection, talk, {child.id: child for child in jobs.listed(connection, talk, "t000002")})
    assert_recalled(connection, talk, strict)
    assert is_index_as_rebuilt(connection)


def assert_usage(connection: apsw.Connection, talk: str, children: dict[str, jobs.Job]) -> None:
    """Every child of the turn that ended has its own row under its job, and the roles add up."""
    told = {each.tail: each for each in usage.by_tail(connection, talk, "t000002")}
    assert set(told) == {"parent", *children}
    requests = {"worker": 4, "explorer": 4}
    for job, child in children.items():
        row = told[job]
        assert (row.role, row.usage.requests) == (child.role, requests[child.role])
        assert (row.usage.input, row.usage.output) == (
            USAGE["prompt_tokens"] * row.usage.requests,
            USAGE["completion_tokens"] * row.usage.requests,
        )
    assert told["parent"].usage.requests == READS + 3
    # What the killed turn had used until then counts: one request, four of each worker, six of each explorer.
    roles = {role: used.requests for role, used in usage.by_role(connection, talk).items()}
    assert roles == {"parent": 1 + READS + 3, "worker": 8 + 8, "explorer": 12 + 8}


def assert_recalled(connection: apsw.Connection, talk: str, strict: StrictModel) -> None:
    """The old report went out as a note with its key, was fetched by it, and stands whole in the store."""
    results = [each for each in replayed(connection, talk).messages if isinstance(each, ToolMessage)]
    fetched = next(each for each in results if each.name == "recall")
    report = next(each for each in results if each.recall_key and each.content == fetched.content)
    assert json.loads(report.content)["summary"] in ("made a.new", "made b.new")
    assert notes.get(connection, talk, notes.scratchpad_id(report.recall_key)) == report.content
    assert [each for each in results if "[elided" in each.content] == []
    elided = [each for each in strict.requests if any(HINT.fullmatch(str(message["content"])) for message in each)]
    assert elided and all(len(each) > READS for each in elided)
    assert not any("recall_key" in json.dumps(each) for each in strict.requests)
