"""Command lines through a real server: what they do, and that no model hears of them."""

import asyncio
from typing import Any

import pytest

from smith_server.store import conversations, notes, usage
from smith_server.store.opening import Place, open_store
from tests.e2e.client import Client
from tests.e2e.strict_model import StrictModel
from tests.e2e.world import World
from tests.store.builders import is_index_as_rebuilt, replayed

ORIGIN = '[remote "origin"]\n\turl = https://ann:s3cret@github.com/acme/widgets.git\n'


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


async def started(world: World, strict: StrictModel, *replies: list[dict[str, Any]]) -> Client:
    strict.play({"": list(replies)})
    world.use_at(strict.url)
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    return client


async def slash(client: Client, line: str) -> dict[str, Any]:
    answer: dict[str, Any] = await client.run("smith.slash", line=line)
    return answer


async def text(client: Client, line: str) -> str:
    answer = await slash(client, line)
    assert answer["ok"], answer
    return str(answer.get("text", ""))


async def code(client: Client, line: str) -> str:
    answer = await slash(client, line)
    assert not answer["ok"]
    return str(answer["error"]["code"])


@pytest.mark.parametrize("line", ["/nothing", "/Help", "/", "/etc/hosts is a file"])
async def test_a_command_that_is_none_is_an_error_and_nothing_is_sent(
    world: World, strict: StrictModel, line: str
) -> None:
    client = await started(world, strict)
    answer = await slash(client, line)
    assert (answer["ok"], answer["error"]["kind"], answer["error"]["code"]) == (False, "schema", "unknown_command")
    assert "/help" in answer["error"]["message"]
    assert strict.bodies == []


async def test_commands_are_no_messages_and_take_no_step(world: World, strict: StrictModel) -> None:
    world.settings("tool_step_budget = 1\n")
    client = await started(world, strict, [call("read", path="none")], [{"text": "Fine."}])
    answer = await client.run("smith.turn", text="hello")
    assert answer["stop_reason"] == "completed"
    for line in ("/help", "/usage", "/scratchpad set plan go on", "/history"):
        await text(client, line)
    connection = open_store(Place(world.home / "smith" / "smith.db")).connection
    assert [message.id for message in replayed(connection, answer["conversation"]).messages] == [
        f"t000001.000{number}" for number in range(1, 5)
    ]


async def test_memory_is_that_of_the_note_tool_and_shows_in_the_next_turn(world: World, strict: StrictModel) -> None:
    (world.root / ".git" / "config").write_text(ORIGIN)
    wrote = call("note", action="upsert", id="a:1", content="use tabs\nnot blanks")
    client = await started(world, strict, [wrote], [{"text": "Noted."}], [{"text": "I know."}], [{"text": "So?"}])
    await client.run("smith.turn", text="note it")
    assert await text(client, "/memory") == await text(client, "/memory list") == "a:1  use tabs"
    assert await text(client, "/memory get a:1") == "use tabs\nnot blanks"
    await text(client, "/memory upsert b keep  two blanks")
    assert await text(client, "/memory get b") == "keep  two blanks"
    await client.run("smith.turn", text="and now?")
    systems = [body["messages"][0]["content"] for body in strict.bodies]
    assert [("a:1: use tabs" in system, "b: keep" in system) for system in systems] == [
        (False, False),
        (False, False),
        (True, True),
    ]
    assert "s3cret" not in str(strict.bodies)
    await text(client, "/memory delete a:1")
    assert await code(client, "/memory get a:1") == "not_found"
    await client.run("smith.turn", text="and now?")
    assert "a:1" not in strict.bodies[-1]["messages"][0]["content"]
    assert await code(client, "/memory burn a:1") == "invalid_arguments"


async def test_outside_a_project_with_an_origin_there_is_no_memory(world: World, strict: StrictModel) -> None:
    client = await started(world, strict)
    assert await code(client, "/memory") == "no_project"


async def test_the_scratchpad_is_that_of_the_conversation(world: World, strict: StrictModel) -> None:
    wrote, read = call("record", key="plan", value="one\ntwo"), call("recall", key="mine")
    client = await started(world, strict, [wrote], [{"text": "x"}], [read], [{"text": "y"}])
    await client.run("smith.turn", text="keep it")
    await text(client, "/scratchpad set mine what I  think")
    assert await text(client, "/scratchpad") == "mine  what I  think\nplan  one"
    assert await text(client, "/scratchpad list pl") == "plan  one"
    assert await text(client, "/scratchpad get plan") == "one\ntwo"
    await client.run("smith.turn", text="recall it")
    assert strict.requests[-1][-1]["content"] == "what I  think"
    await text(client, "/scratchpad delete plan")
    assert await code(client, "/scratchpad get plan") == "not_found"
    await text(client, "/new")
    assert await text(client, "/scratchpad") == "nothing is recorded"


async def test_what_is_chosen_before_the_first_prompt_stays_with_the_conversation(
    world: World, strict: StrictModel
) -> None:
    client = await started(world, strict, [{"text": "Hello."}])
    for line in ("/scratchpad set plan go on", "/role orchestrator", "/model other", "/rename My work"):
        await text(client, line)
    talk = (await client.run("smith.turn", text="hi"))["conversation"]
    assert strict.bodies[-1]["model"] == "other"
    await client.stop()
    connection = open_store(Place(world.home / "smith" / "smith.db")).connection
    header = conversations.get(connection, talk)
    assert header is not None
    assert (header.role, header.model, header.title) == ("orchestrator", "other", "My work")
    assert notes.get(connection, talk, "scratchpad:plan") == "go on"


async def test_a_new_conversation_is_the_one_to_resume_at_once(world: World, strict: StrictModel) -> None:
    client = await started(world, strict, [{"text": "Hello."}], [{"text": "Anew."}])
    first = (await client.run("smith.turn", text="hi"))["conversation"]
    new = (await slash(client, "/new"))["data"]["conversation"]
    assert new != first
    await client.stop()
    again = await world.server()
    answer = await again.run("smith.turn", text="who am I?")
    assert answer["conversation"] not in (first, "")
    assert [message["role"] for message in strict.requests[-1]] == ["system", "user"]


async def test_conversations_are_listed_newest_first_and_loaded_by_their_beginning(
    world: World, strict: StrictModel
) -> None:
    client = await started(world, strict, [{"text": "1"}], [{"text": "2"}], [{"text": "3"}])
    first = (await client.run("smith.turn", text="the first one"))["conversation"]
    await slash(client, "/new")
    second = (await client.run("smith.turn", text="the second one"))["conversation"]
    assert (await slash(client, "/history"))["data"]["conversations"] == [second, first]
    assert (await slash(client, "/load"))["data"]["conversations"] == [second, first]
    assert (await slash(client, "/history 1"))["data"]["conversations"] == [second]
    assert await code(client, "/load nowhere") == "not_found"
    assert await code(client, "/history many") == "invalid_arguments"
    assert (await slash(client, f"/load {first[:12]}"))["data"]["conversation"] == first
    assert (await client.run("smith.turn", text="go on"))["conversation"] == first
    assert [message["content"] for message in strict.requests[-1][1:]] == ["the first one", "1", "go on"]
    assert (await slash(client, "/history"))["data"]["conversations"] == [first, second]


async def test_an_emptied_conversation_keeps_usage_and_notes_and_begins_anew(world: World, strict: StrictModel) -> None:
    client = await started(world, strict, [{"text": "rhubarb"}], [{"text": "Anew."}])
    talk = (await client.run("smith.turn", text="say it"))["conversation"]
    await text(client, "/scratchpad set plan go on")
    assert "rhubarb" in await text(client, "/search rhubarb")
    assert await text(client, "/clear") == "2 messages are gone."
    connection = open_store(Place(world.home / "smith" / "smith.db")).connection
    assert conversations.load(connection, talk).messages == ()
    assert is_index_as_rebuilt(connection)
    assert await text(client, "/search rhubarb") == "Nothing was found."
    assert usage.total(connection, talk).requests == 1
    assert notes.get(connection, talk, "scratchpad:plan") == "go on"
    answer = await client.run("smith.turn", text="and now?")
    assert answer["conversation"] == talk
    assert answer["turn"] == "t000002"
    assert [message["role"] for message in strict.requests[-1]] == ["system", "user"]


async def test_the_prompt_that_is_shown_is_the_one_that_is_sent(world: World, strict: StrictModel) -> None:
    (world.root / ".git" / "config").write_text(ORIGIN)
    (world.root / "INDEX.md").write_text("Begin here.")
    client = await started(world, strict, [{"text": "Hello."}])
    await text(client, "/memory upsert a text")
    page = (await slash(client, "/prompt"))["ui"]
    await client.run("smith.turn", text="hi")
    assert page["content"] == strict.requests[0][0]["content"]
    assert (page["type"], page["title"], page["format"]) == ("pager", "System prompt", "markdown")


async def test_the_pager_shows_all_that_was_said_nothing_elided(world: World, strict: StrictModel) -> None:
    world.settings("[context_management]\ntool_output_keep_rounds = 0\nelide_step = 1\nelide_min_gain_pct = 0\n")
    lines = "".join(f"line {number}\n" for number in range(300))
    world.file("long.txt", lines)
    client = await started(world, strict, [{"text": "Let me see."}, call("read", path="long.txt")], [{"text": "Fine."}])
    await client.run("smith.turn", text="read it")
    assert "[elided" in strict.requests[-1][-1]["content"]
    page = (await slash(client, "/pager"))["ui"]["content"]
    assert "[elided" not in page
    for said in ("read it", "Let me see.", "line 299", "Fine."):
        assert said in page


async def test_what_would_pull_the_ground_away_is_refused_while_a_turn_runs(world: World, strict: StrictModel) -> None:
    world.script([{"text": "Well"}, {"wait": 60}])
    client = await world.server()
    client.command("smith.turn", text="go")
    await client.event("llm_output_delta")
    for line in ("/new", "/load abc", "/clear", "/config set tool_step_budget 3", "/config unset tool_step_budget"):
        assert await code(client, line) == "turn_active", line
    for line in ("/help", "/usage", "/config", "/config get bash.timeout", "/scratchpad", "/history"):
        await text(client, line)
    assert (await slash(client, "/pager"))["ok"]
    await asyncio.wait_for(client.run("smith.cancel"), 2)
    await text(client, "/config set tool_step_budget 3")


async def test_usage_adds_up_what_was_reported(world: World, strict: StrictModel) -> None:
    child = [call("dispatch", role="explorer", task="look around")]
    client = await started(world, strict)
    strict.play({"look around": [[call("report", status="ok", summary="x")]], "": [child, [{"text": "Fine."}]]})
    await client.run("smith.turn", text="go")
    answer = await slash(client, "/usage")
    assert [line.split() for line in answer["text"].splitlines()] == [
        ["explorer", "parent", "total"],
        ["requests", "1", "2", "3"],
        ["input", "100", "200", "300"],
        ["cache", "read", "0", "0", "0"],
        ["cache", "write", "0", "0", "0"],
        ["output", "10", "20", "30"],
        ["cost", "n/a", "n/a", "n/a"],
        [],
        ["this", "project:", "n/a", "today,", "n/a", "in", "all"],
    ]
    assert {who: used["requests"] for who, used in answer["data"].items()} == {
        "explorer": 1,
        "parent": 2,
        "total": 3,
        "today": 3,
        "project": 3,
    }


async def test_a_turn_uses_the_folder_that_its_prompt_names(world: World, strict: StrictModel) -> None:
    other = world.root / "other"
    other.mkdir()
    (other / "mine.txt").write_text("of the other folder")
    client = await started(world, strict, *[[call("read", path="mine.txt")], [{"text": "x"}]] * 2)
    await client.run("smith.turn", text="here")
    assert "of the other folder" not in strict.requests[-1][-1]["content"]
    await client.run("smith.turn", text="there", context={"cwd": str(other)})
    assert "of the other folder" in strict.requests[-1][-1]["content"]
    systems = [body["messages"][0]["content"] for body in strict.bodies]
    assert f"- CWD: {world.root}" in systems[0]
    assert f"- CWD: {other}" in systems[2]
