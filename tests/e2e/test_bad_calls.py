"""Calls that make no sense, and output that is no text, through a whole turn."""

from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.command import smith
from tests.e2e.strict_model import StrictModel
from tests.e2e.world import World
from tests.e2e.written_model import WrittenModel, answering, openai
from tests.llm.streams import DONE, calling, event

RULES = '[approval]\nask = ["bash(rm *)", "[", "write(**[)"]\ndeny = ["read(secret)"]\n'


async def started(world: World, strict: StrictModel, *replies: list[dict[str, Any]]) -> Client:
    strict.play({"": list(replies)})
    world.use_at(strict.url)
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    return client


@pytest.mark.parametrize("given", [["a"], None, 3, "text", True], ids=repr)
async def test_arguments_that_are_no_object_are_told_whoever_would_be_asked(
    world: World, strict: StrictModel, given: Any
) -> None:
    world.settings(RULES)
    calls = [{"call": name, "arguments": given} for name in ("read", "read", "bash", "write", "dispatch", "note")]
    client = await started(world, strict, calls, [{"text": "I see."}])
    answer = await client.run("smith.turn", text="go")
    assert (answer["stop_reason"], answer["text"], strict.refused) == ("completed", "I see.", [])
    codes = [event["code"] for event in client.events if event["kind"] == "tool_call_finished"]
    assert codes == ["invalid_arguments"] * 6
    assert "approval_asked" not in client.kinds()


async def test_a_folder_where_a_file_should_be_ends_no_turn(world: World, strict: StrictModel) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    (world.root / "folder").mkdir()
    calls = [
        {"call": "read", "arguments": {"path": "folder"}},
        {"call": "write", "arguments": {"path": "folder", "content": "x"}},
        {"call": "replace", "arguments": {"path": "folder", "old": "a", "new": "b"}},
    ]
    client = await started(world, strict, calls, [{"text": "I see."}])
    answer = await client.run("smith.turn", text="go")
    assert (answer["stop_reason"], strict.refused) == ("completed", [])
    finished = [event for event in client.events if event["kind"] == "tool_call_finished"]
    assert [event["ok"] for event in finished] == [False] * 3
    assert all("folder" in event["content"] for event in finished)


async def test_output_that_is_no_text_is_sent_as_text_now_and_later(world: World, strict: StrictModel) -> None:
    """A server that takes only sound JSON gets every request, the ones of a later process too."""
    world.settings('[approval]\nmode = "auto"\n')
    world.file("latin.txt", b"caf\xe9\n")
    world.file("long.txt", ("\u00e9" * 40_000 + "\n").encode())
    calls = [
        {"call": "bash", "arguments": {"command": "printf 'a\\xff\\xfe\\x80b\\xed\\xa0\\x80c'"}},
        {"call": "bash", "arguments": {"command": "cat long.txt"}},
        {"call": "read", "arguments": {"path": "latin.txt"}},
        {"call": "bash", "arguments": {"command": "head -c 300 /dev/zero"}},
    ]
    client = await started(world, strict, calls, [{"text": "I see."}])
    answer = await client.run("smith.turn", text="go")
    assert (answer["stop_reason"], strict.refused) == ("completed", [])
    results = [message["content"] for message in strict.requests[-1] if message["role"] == "tool"]
    assert results[0].startswith("a\ufffd") and "b" in results[0] and "c" in results[0]
    assert "\ufffd" not in results[1]
    assert "caf\u00e9" in results[2]
    await client.stop()
    strict.play({"": [[{"text": "Still sound."}]]})
    again = await world.server()
    later = await again.run("smith.turn", text="and now?")
    assert (later["conversation"], later["text"], strict.refused) == (answer["conversation"], "Still sound.", [])
    assert [message["content"] for message in strict.requests[-1] if message["role"] == "tool"] == results


async def test_a_reply_of_nothing_is_not_kept_and_the_next_prompt_works(world: World, strict: StrictModel) -> None:
    world.settings("empty_response_retry_max_retries = 0\n")
    client = await started(world, strict, [], [{"text": "Here."}])
    answer = await client.run("smith.turn", text="go")
    assert (answer["stop_reason"], answer["error"]["code"]) == ("error", "empty_response")
    again = await client.run("smith.turn", text="again")
    assert (again["text"], strict.refused) == ("Here.", [])
    assert [message["role"] for message in strict.requests[-1]] == ["system", "user", "user"]


async def test_a_provider_that_fails_is_told_once_with_its_own_words(world: World, strict: StrictModel) -> None:
    client = await started(world, strict)
    answer = await client.run("smith.turn", text="go")
    assert (answer["stop_reason"], answer["error"]["code"]) == ("error", "bad_request")
    assert "no reply is left" in answer["error"]["message"]
    assert client.kinds().count("turn_error") == 1
    assert "agent_error" not in client.kinds()


async def test_calls_of_one_reply_are_answered_in_their_order_whatever_they_are(
    world: World, strict: StrictModel
) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    calls = [
        {"call": "read", "arguments": {"path": "gone"}},
        {"call": "bash", "arguments": {"command": "echo out"}},
        {"call": "nothing", "arguments": {}},
        {"call": "read", "arguments": {"path": "gone too"}},
        {"call": "read", "arguments": {}},
        {"call": "bash", "arguments": {"command": "exit 3"}},
    ]
    client = await started(world, strict, calls, [{"text": "I see."}])
    await client.run("smith.turn", text="go")
    assert strict.refused == []
    asked = [call["id"] for message in strict.requests[-1] for call in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in strict.requests[-1] if message["role"] == "tool"] == asked
    codes = [message["content"].partition(":")[0] for message in strict.requests[-1] if message["role"] == "tool"]
    assert codes[0] == codes[3] == "file_not_found"
    assert codes[2] == "unknown_tool" and codes[4] == "invalid_arguments"


async def test_calls_without_ids_get_ids_that_are_unique_in_the_whole_conversation(world: World) -> None:
    world.file("a.py", "one\n")
    nameless = calling(index=0, name="read", arguments='{"path": "a.py"}')
    calls = (nameless, calling(index=1, name="read", arguments='{"path": "a.py"}'), event(reason="tool_calls"), DONE)
    model = WrittenModel(calls, calls, openai("Read."), calls, openai("Again."))
    async with answering(world, "custom", model):
        for words in (["read it"], ["-c", "again"]):
            assert (await smith(world, "run", "-p", "custom", *words)).code == 0
    talk = model.bodies[-1]["messages"]
    made = [call["id"] for message in talk for call in message.get("tool_calls", ())]
    assert len(set(made)) == 6
    assert [message["tool_call_id"] for message in talk if message["role"] == "tool"] == made
