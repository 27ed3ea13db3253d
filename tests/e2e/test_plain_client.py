"""A language client that knows nothing of smith: turns, questions, edits and cancels through LSP alone."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from lsprotocol import types

from smith_server.workspace.text import text_hash
from tests.e2e.plain import UNITS, Plain
from tests.e2e.processes import gone, living, until
from tests.e2e.world import World

pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")

GOOD = [{"text": "All is well."}]


@pytest.fixture
async def client(world: World) -> AsyncIterator[Plain]:
    made = Plain(world)
    yield made
    await made.lsp.shutdown_session()
    await made.lsp.stop()
    assert made.own == []


def calls(*steps: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [[step] for step in steps]


TOUCH = {"call": "bash", "arguments": {"command": "touch ran"}}
READ = {"call": "read", "arguments": {"path": "a.py"}}


def replace(old: str, new: str) -> dict[str, Any]:
    return {"call": "replace", "arguments": {"path": "a.py", "old": old, "new": new}}


async def test_a_turn_is_a_command_with_an_answer(client: Plain, world: World, model: LLMock) -> None:
    world.use(model)
    path = world.file("a.py", "on disk\n")
    await client.start()
    client.open(path, "not saved\n")
    model.call_tool("read", {"path": "a.py"})
    model.reply("It says: not saved.")
    answer = await client.turn("what does it say?")
    assert (answer["stop_reason"], answer["text"]) == ("completed", "It says: not saved.")
    assert "not saved" in str(model.requests[-1].body["messages"])


@pytest.mark.parametrize(
    ("answers", "ran"),
    [(["Yes"], True), (["No"], False), ([None], False), (["Surprise"], False)],
    ids=["yes", "no", "dismissed", "something else"],
)
async def test_a_question_is_a_message_with_three_answers(
    client: Plain, world: World, answers: list[str | None], ran: bool
) -> None:
    world.script(*calls(TOUCH), GOOD)
    await client.start()
    client.answers = answers
    assert (await client.turn())["text"] == "All is well."
    assert client.questions == ["smith wants to run bash: touch ran"]
    assert (world.root / "ran").exists() == ran


async def test_always_is_asked_once(client: Plain, world: World) -> None:
    world.script(*calls(TOUCH, TOUCH), GOOD)
    await client.start()
    client.answers = ["Always in this session"]
    await client.turn()
    assert len(client.questions) == 1
    assert (world.root / "ran").exists()


async def test_an_edit_is_asked_about_with_its_diff(client: Plain, world: World) -> None:
    world.script(*calls(READ, replace("two", "2")), GOOD)
    path = world.file("a.py", "one\ntwo\n")
    await client.start()
    client.open(path, "one\ntwo\n")
    client.answers = ["No"]
    await client.turn()
    assert "-two\n+2\n" in client.questions[0]
    assert (client.edits, client.text) == ([], "one\ntwo\n")


ODD = "caf\u00e9 \U0001f600\t1\r\n\U0001f600 two \u00fc; three\r\nend"


@pytest.mark.parametrize("encoding", UNITS)
@pytest.mark.parametrize("does", ["apply", "apply late"])
async def test_an_edit_lands_in_the_buffer_and_not_on_disk(
    client: Plain, world: World, encoding: str, does: str
) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script(*calls(READ, replace("two \u00fc", "2 \U0001f680")), GOOD)
    path = world.file("a.py", "old\n")
    client.encoding, client.does = encoding, does
    await client.start()
    client.open(path, ODD)
    await client.turn()
    assert client.text == ODD.replace("two \u00fc", "2 \U0001f680")
    assert path.read_text() == "old\n"
    result = (await client.results())[-1]
    assert text_hash(client.text) in result["content"]


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("skip", "It may or may not be in the buffer"),
        ("refuse", "the buffer is locked"),
        ("apply otherwise", "formatted on change"),
    ],
)
async def test_an_edit_that_did_not_land_as_meant_is_told_as_such(
    client: Plain, world: World, does: str, told: str
) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script(*calls(READ, replace("two", "2")), GOOD)
    path = world.file("a.py", "one\ntwo\n")
    client.does = does
    await client.start()
    client.open(path, "one\ntwo\n")
    await client.turn()
    result = (await client.results())[-1]
    assert len(client.edits) == 1
    assert result["ok"] is False
    assert told in result["content"]
    assert path.read_text() == "one\ntwo\n"


async def test_after_an_edit_that_was_skipped_a_read_and_a_new_edit_work(client: Plain, world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script(*calls(READ, replace("two", "2"), replace("two", "2"), READ, replace("two", "2")), GOOD)
    path = world.file("a.py", "one\ntwo\n")
    client.does = "skip"
    await client.start()
    client.open(path, "one\ntwo\n")
    turn = client.start_turn("turn")
    await until(lambda: bool(client.edits), 20)
    client.does = "apply"
    await turn
    codes = [result.get("code", "") for result in await client.results()]
    assert codes == ["", "edit_unknown", "unsettled", "", ""]
    assert client.text == "one\n2\n"


async def test_a_buffer_with_a_lone_carriage_return_is_read_and_not_edited(client: Plain, world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script(*calls(READ, replace("three", "3")), GOOD)
    path = world.file("a.py", "x\n")
    await client.start()
    client.open(path, "one\rtwo\nthree\n")
    await client.turn()
    result = (await client.results())[-1]
    assert (client.edits, client.text) == ([], "one\rtwo\nthree\n")
    assert result["ok"] is False
    assert "carriage return" in result["content"]


async def test_typing_between_read_and_edit_is_never_overwritten(client: Plain, world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script([READ], [{"wait": 1.5}, replace("two", "2")], GOOD)
    path = world.file("a.py", "one\ntwo\n")
    await client.start()
    client.open(path, "one\ntwo\n")
    turn = client.start_turn("turn")
    while not await client.results():
        await asyncio.sleep(0.02)
    client.type("one\ntwo, mine\n")
    await turn
    assert (client.edits, client.text) == ([], "one\ntwo, mine\n")
    assert "two, mine" in (await client.results())[-1]["content"]


async def test_a_command_is_told_what_is_not_on_disk(client: Plain, world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    command = {"call": "bash", "arguments": {"command": "cat a.py"}}
    world.script(*calls(READ, replace("two", "2"), command), GOOD)
    path = world.file("a.py", "one\ntwo\n")
    await client.start()
    client.open(path, "one\ntwo\n")
    await client.turn()
    result = (await client.results())[-1]
    assert result["content"].startswith("one\ntwo")
    assert "not on disk: a.py (unsaved edit of this conversation)" in result["content"]


Stop = Callable[[Plain], Awaitable[None]]


async def by_request(client: Plain) -> None:
    client.lsp.cancel_request(types.CancelParams(id="turn"))


async def by_command(client: Plain) -> None:
    assert (await client.command("smith.cancel"))["cancelled"]


async def by_progress(client: Plain) -> None:
    client.lsp.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token="token"))


stops = pytest.mark.parametrize("stop", [by_request, by_command, by_progress])


@stops
async def test_a_cancelled_turn_is_answered_with_its_result(client: Plain, world: World, stop: Stop) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"text": "Now. "}, {"call": "bash", "arguments": {"command": f"sleep {mark}"}}], GOOD)
    await client.start()
    turn = client.start_turn("turn", token="token")
    await until(lambda: bool(living(f"sleep {mark}")), 20)
    await stop(client)
    answer = await asyncio.wait_for(turn, 5)
    assert (answer["stop_reason"], answer["text"]) == ("cancelled", "Now. ")
    await gone(mark, 0.5)
    assert (await client.turn("again"))["text"] == "All is well."


@stops
async def test_a_cancel_withdraws_the_question_and_nothing_runs(client: Plain, world: World, stop: Stop) -> None:
    world.script(*calls(TOUCH), GOOD)
    await client.start()
    turn = client.start_turn("turn", token="token")
    await until(lambda: bool(client.questions), 20)
    await stop(client)
    assert (await asyncio.wait_for(turn, 5))["stop_reason"] == "cancelled"
    await until(lambda: client.withdrawn == client.questions, 5)
    assert not (world.root / "ran").exists()


async def test_progress_begins_names_what_runs_and_ends(client: Plain, world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script(*calls(TOUCH, READ), GOOD, GOOD)
    await client.start()
    reports = client.lsp.progress_reports
    await client.start_turn("turn", token="token")
    await client.start_turn("again", token="token")
    await until(lambda: len(reports.get("token", ())) >= 6, 5)
    values: list[Any] = list(reports["token"])
    seen = [(value.kind, value.message if value.kind == "report" else None) for value in values]
    begin, end = ("begin", None), ("end", None)
    assert seen == [begin, ("report", "bash"), ("report", "read"), end, begin, end]


async def test_progress_ends_before_the_answer_and_without_a_token_there_is_none(world: World) -> None:
    world.script(GOOD, GOOD)
    client = await world.server(plugin=False)
    await client.run("smith.turn", text="hi")
    assert client.notes == []
    params = {"command": "smith.turn", "arguments": [{"text": "hi"}], "workDoneToken": 7}
    await client.request("workspace/executeCommand", params)
    assert [note["value"]["kind"] for _, note in client.notes] == ["begin", "end"]
    assert client.raw.rindex(b'"end"') < client.raw.rindex(b'"result"')


async def test_a_client_that_cannot_wait_gets_its_answer_at_once(client: Plain, world: World) -> None:
    world.script([{"wait": 0.3}, {"text": "Later."}])
    await client.start()
    answer = await client.command("smith.turn", text="hi", wait=False)
    assert "stop_reason" not in answer
    status = await client.command("smith.status")
    assert [(each["conversation"], each["busy"]) for each in status["sessions"]] == [(answer["conversation"], True)]


async def test_an_answer_to_a_withdrawn_question_does_not_swallow_what_comes_with_it(world: World) -> None:
    world.script(*calls(TOUCH), GOOD)
    client = await world.server(plugin=False)
    asked, answers = asyncio.Event(), asyncio.Event()

    async def question(params: Any) -> None:
        asked.set()
        await answers.wait()

    client.handlers["window/showMessageRequest"] = question
    request, turn = client.command("smith.turn", text="go")
    await asyncio.wait_for(asked.wait(), 20)
    client.notify("$/cancelRequest", {"id": request})
    assert (await asyncio.wait_for(turn, 5))["stop_reason"] == "cancelled"
    answers.set()
    await asyncio.sleep(0)
    assert await asyncio.wait_for(client.run("smith.status"), 5)


async def test_conversations_queue_inspect_and_status_need_no_plugin(client: Plain, world: World) -> None:
    world.script([{"wait": 1}, {"text": "One."}], [{"text": "Two."}])
    await client.start()
    name = (await client.command("smith.turn", text="one", wait=False))["conversation"]
    second = client.start_turn("second", "two")
    while not (await client.command("smith.queue", op="list"))["prompts"]:
        await asyncio.sleep(0.02)
    listed = await client.command("smith.queue", op="list")
    assert [each["text"] for each in listed["prompts"]] == ["two"]
    await second
    loaded = await client.command("smith.conversations", op="load", conversation=name)
    assert [event["text"] for event in loaded["events"] if event["kind"] == "turn_started"] == ["one", "two"]
    page = await client.command("smith.inspect", op="list", limit=1)
    assert [each["id"] for each in page["messages"]] == ["t000002.0001", "t000002.0002"]
    forked = await client.command("smith.conversations", op="fork", message="t000001.0002")
    assert (await client.command("smith.conversations", op="delete", conversation=forked["conversation"]))["deleted"]
    rows = (await client.command("smith.conversations", op="list"))["conversations"]
    assert [(row["id"], row["message_count"]) for row in rows] == [(name, 4)]
