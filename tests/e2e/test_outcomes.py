"""How turns end: what is told, and what is stored of them whatever the end."""

import json
from typing import Any

import apsw
import pytest

from smith_server.core.conversation import turn_number
from smith_server.store import conversations, notes, turns, usage
from smith_server.store.opening import Place, open_store
from tests.e2e.client import Client
from tests.e2e.strict_model import StrictModel
from tests.e2e.world import World
from tests.store.builders import is_index_as_rebuilt, replayed

TERMINAL = {"turn_completed", "turn_cancelled", "turn_error"}
READ = {"call": "read", "arguments": {"path": "none"}}
FAILED = [{"text": "So far."}, {"error": {"code": "bad_request", "message": "not like that"}}]


def opened(world: World) -> apsw.Connection:
    return open_store(Place(world.home / "smith" / "smith.db")).connection


async def ended(world: World, end: str) -> tuple[Client, dict[str, Any]]:
    """A turn that ended so."""
    world.settings("tool_step_budget = 1\n")
    replies: dict[str, list[list[dict[str, Any]]]] = {
        "completed": [[READ], [{"text": "Fine."}]],
        "cancelled": [[{"text": "So far."}, {"wait": 60}]],
        "error": [FAILED],
        "budget_exhausted": [[{"text": "So far."}, READ, READ]],
    }
    world.script(*replies[end])
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    _, turn = client.command("smith.turn", text="go")
    if end == "cancelled":
        await client.event("llm_output_delta")
        await client.run("smith.cancel")
    return client, await turn


@pytest.mark.parametrize("end", ["completed", "cancelled", "error", "budget_exhausted"])
async def test_a_turn_is_stored_whatever_its_end(world: World, end: str) -> None:
    client, answer = await ended(world, end)
    assert answer["stop_reason"] == end
    if end == "cancelled":
        assert client.kinds().count("turn_cancel_requested") == 1
    await client.stop()
    connection = opened(world)
    talk = answer["conversation"]
    messages = replayed(connection, talk)
    assert messages.open_calls() == ()
    assert messages.messages[0].id == "t000001.0001"
    assert ("So far." if end != "completed" else "Fine.") in "".join(
        getattr(message, "text", "") for message in messages.messages
    )
    turn = turns.get(connection, talk, "t000001")
    assert turn is not None and turn.ended is not None
    assert turn.state == ("completed" if end == "budget_exhausted" else end)
    (row,) = usage.by_tail(connection, talk)
    assert (row.turn, row.tail, row.usage.requests) == ("t000001", "parent", 2 if end == "completed" else 1)
    header = conversations.get(connection, talk)
    assert header is not None and header.message_count == len(messages.messages)
    assert conversations.pointer(connection, str(world.root)) == talk
    assert is_index_as_rebuilt(connection)


@pytest.mark.parametrize("end", ["completed", "cancelled", "error", "budget_exhausted"])
async def test_a_turn_ends_with_one_event_that_nothing_follows(world: World, end: str) -> None:
    client, answer = await ended(world, end)
    await client.run("smith.status")
    own = [event["kind"] for event in client.events if event.get("turn") == answer["turn"]]
    assert [kind for kind in own if kind in TERMINAL] == own[-1:]
    assert own[-1] == {"cancelled": "turn_cancelled", "error": "turn_error"}.get(end, "turn_completed")


async def test_a_used_up_budget_is_told_and_ends_the_turn_for_that_reason(world: World) -> None:
    client, answer = await ended(world, "budget_exhausted")
    assert (answer["error"]["kind"], answer["error"]["code"]) == ("budget_exhausted", "tool_step_budget")
    told = [event for event in client.events if event["kind"] == "agent_error"]
    assert [event["error"]["kind"] for event in told] == ["budget_exhausted"]
    assert client.events[-1]["stop_reason"] == "budget_exhausted"
    codes = [event["code"] for event in client.events if event["kind"] == "tool_call_finished"]
    assert sorted(codes) == ["budget_exhausted", "file_not_found"]


async def test_the_events_of_a_plain_turn_come_in_their_order(world: World, strict: StrictModel) -> None:
    world.use_at(strict.url)
    strict.play({"": [[{"text": "Let me see."}, READ], [{"text": "Fine."}]]})
    client = await world.server()
    client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    await client.run("smith.turn", text="go")
    request = ["llm_request_started", "llm_output_delta", "llm_request_finished", "message_added", "usage_updated"]
    assert [kind for kind in client.kinds() if kind != "notice"] == [
        "session_started",
        "turn_started",
        "message_added",
        *request,
        "tool_call_started",
        "tool_call_finished",
        "message_added",
        *request,
        "turn_completed",
    ]
    started = await client.event("llm_request_started")
    assert (started["model"], started["attempt"]) == ("mock", 1)
    assert [event["seq"] for event in client.events] == list(range(1, len(client.events) + 1))


async def test_a_pointer_that_leads_nowhere_begins_anew_in_silence(world: World) -> None:
    world.script([{"text": "Hello."}], loop=True)
    first = await world.server()
    talk = (await first.run("smith.turn", text="hi"))["conversation"]
    await first.stop()
    with opened(world) as connection:
        conversations.point(connection, str(world.root), "gone")
    second = await world.server()
    answer = await second.run("smith.turn", text="hi")
    assert (answer["stop_reason"], answer["turn"]) == ("completed", "t000001")
    assert answer["conversation"] not in (talk, "gone")
    assert [event for event in second.events if event["kind"] in ("notice", "agent_error")] == []


async def test_turns_of_a_resumed_conversation_are_numbered_on(world: World) -> None:
    world.script([{"text": "Hello."}], loop=True)
    for number in range(1, 4):
        client = await world.server()
        answer = await client.run("smith.turn", text=f"prompt {number}")
        assert turn_number(answer["turn"]) == number
        await client.stop()
    ids = [message.id for message in replayed(opened(world), answer["conversation"]).messages]
    assert ids == [f"t{turn:06d}.{seq:04d}" for turn in (1, 2, 3) for seq in (1, 2)]


@pytest.mark.parametrize("end", ["completed", "cancelled", "error", "budget_exhausted"])
async def test_what_became_of_a_turn_is_a_note_of_its_conversation(world: World, end: str) -> None:
    client, answer = await ended(world, end)
    await client.stop()
    note = notes.get(opened(world), answer["conversation"], "turn_record-t000001")
    assert note is not None
    record = json.loads(note)
    assert (record["stop_reason"], record["provider"], record["usage"]["requests"]) == (
        end,
        "scripted",
        2 if end == "completed" else 1,
    )
    assert ("not like that" in record.get("message", "")) == (end == "error")
