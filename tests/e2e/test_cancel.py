"""Cancel really stops: below a second, nothing left, nothing started afterwards, the next turn works."""

import asyncio
import secrets
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from typing import Any

import pytest

from tests.e2e.client import Client, RpcError
from tests.e2e.processes import gone, living, until
from tests.e2e.test_store_trouble import database
from tests.e2e.world import World

Stop = Callable[[Client, int], Awaitable[Any]]

CANCEL_SECONDS = 1.0
GOOD = [{"text": "The next turn works."}]


async def by_command(client: Client, request: int) -> None:
    stopped = await client.run("smith.cancel")
    assert stopped["cancelled"]


async def by_request(client: Client, request: int) -> None:
    client.notify("$/cancelRequest", {"id": request})


async def cancelled(client: Client, request: int, turn: "asyncio.Future[Any]", stop: Stop) -> dict[str, Any]:
    began = time.monotonic()
    _, answer = await asyncio.gather(stop(client, request), asyncio.wait_for(turn, 10))
    assert time.monotonic() - began < CANCEL_SECONDS
    assert answer["stop_reason"] == "cancelled"
    assert client.kinds()[-1] == "turn_cancelled"
    after = await client.run("smith.turn", text="again")
    assert (after["stop_reason"], after["text"]) == ("completed", "The next turn works.")
    return dict(answer)


both = pytest.mark.parametrize("stop", [by_command, by_request], ids=["smith.cancel", "$/cancelRequest"])


@both
async def test_while_the_answer_streams_the_text_so_far_is_kept(world: World, stop: Stop) -> None:
    world.script([{"text": "so far so good ", "size": 5, "delay": 0.05}, {"wait": 60}], GOOD)
    client = await world.server()
    request, turn = client.command("smith.turn", text="go")
    await until(lambda: "so far" in client.text(), 10)
    answer = await cancelled(client, request, turn, stop)
    shown = answer["text"]
    assert shown
    assert client.text().startswith(shown)
    listed = await client.run("smith.inspect", op="list")
    assert shown in str(listed["messages"][1]["content"])


@both
@pytest.mark.parametrize(
    "command",
    ["sleep {mark} & sleep {mark}", "trap '' TERM; sleep {mark}; sleep {mark}", "setsid sleep {mark} & sleep {mark}"],
    ids=["with a child in the background", "ignores TERM", "with a child in another session"],
)
async def test_while_a_command_runs_no_process_is_left(world: World, stop: Stop, command: str) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": command.format(mark=mark)}}], GOOD)
    client = await world.server()
    request, turn = client.command("smith.turn", text="go")
    await until(lambda: len(living(f"sleep {mark}")) > command.count("&"), 10)
    await cancelled(client, request, turn, stop)
    await gone(mark, 0.5)
    finished = await client.event("tool_call_finished")
    assert finished["code"] == "cancelled"


@both
async def test_while_a_question_waits_it_is_withdrawn_and_nothing_starts(world: World, stop: Stop) -> None:
    world.script([{"call": "bash", "arguments": {"command": "touch ran"}}], GOOD)
    client = await world.server()
    request, turn = client.command("smith.turn", text="go")
    asked = await client.event("approval_asked")
    await cancelled(client, request, turn, stop)
    late = await client.run("smith.answer", id=asked["id"], decision="yes")
    assert late == {"state": "withdrawn"}
    assert not (world.root / "ran").exists()


@both
@pytest.mark.parametrize("first", ["yes", "cancel"])
async def test_in_the_same_moment_as_a_yes_nothing_starts_after_it(world: World, stop: Stop, first: str) -> None:
    mark = f"60.{secrets.randbelow(10**9):09d}"
    world.script([{"call": "bash", "arguments": {"command": f"sleep {mark}; touch ran"}}], GOOD)
    client = await world.server()
    request, turn = client.command("smith.turn", text="go")
    asked = await client.event("approval_asked")
    if first == "yes":
        client.command("smith.answer", id=asked["id"], decision="yes")
        await cancelled(client, request, turn, stop)
    else:
        stopping = asyncio.ensure_future(cancelled(client, request, turn, stop))
        await asyncio.sleep(0)
        client.command("smith.answer", id=asked["id"], decision="yes")
        await stopping
    await gone(mark, 0.5)
    assert not (world.root / "ran").exists()


async def test_a_cancel_in_one_conversation_leaves_the_answer_of_another_command_alone(world: World) -> None:
    world.script([{"wait": 60}], GOOD)
    client = await world.server()
    request, turn = client.command("smith.turn", text="go")
    await client.event("llm_request_started")
    client.notify("$/cancelRequest", {"id": 999})
    status = await client.run("smith.status")
    assert status["sessions"][0]["busy"]
    await cancelled(client, request, turn, by_command)


async def test_prompts_that_waited_come_back_to_the_person(world: World) -> None:
    world.script([{"wait": 60}], GOOD)
    client = await world.server()
    _, turn = client.command("smith.turn", text="go")
    await client.event("llm_request_started")
    _, waiting = client.command("smith.turn", text="and then this")
    await client.event("prompt_queued")
    stopped = await client.run("smith.cancel")
    assert stopped["dropped"] == ["and then this"]
    assert (await turn)["stop_reason"] == (await waiting)["stop_reason"] == "cancelled"


async def test_an_unread_client_can_still_cancel(world: World) -> None:
    world.script([{"text": "x" * 200_000, "size": 50}, {"wait": 60}], GOOD)
    client = await world.server()
    request, turn = client.command("smith.turn", text="go")
    await client.event("llm_output_delta")
    await cancelled(client, request, turn, by_command)


@pytest.mark.parametrize("prompts", [1, 3])
async def test_a_cancel_right_behind_the_first_prompts_stops_them_all(world: World, prompts: int) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script(*[[{"call": "bash", "arguments": {"command": "touch ran"}}], [{"text": "Done."}]] * prompts)
    client = await world.server()
    turns = [client.command("smith.turn", text=f"prompt {number}", queue=True)[1] for number in range(prompts)]
    stopped = await client.run("smith.cancel")
    answers = await asyncio.wait_for(asyncio.gather(*turns), 10)
    assert stopped["cancelled"]
    assert {answer["stop_reason"] for answer in answers} == {"cancelled"}
    assert not (world.root / "ran").exists()


async def test_a_request_that_is_cancelled_before_its_conversation_is_open_runs_nothing(world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')
    world.script([{"call": "bash", "arguments": {"command": "touch ran"}}], GOOD)
    client = await world.server()
    await client.run("smith.status")
    request, turn = client.command("smith.turn", text="go")
    client.notify("$/cancelRequest", {"id": request})
    with suppress(RpcError):
        assert (await asyncio.wait_for(turn, 10))["stop_reason"] == "cancelled"
    assert not any(session["queue"] for session in (await client.run("smith.status"))["sessions"])
    assert not (world.root / "ran").exists()


async def test_a_store_that_another_program_locks_does_not_hold_up_a_cancel(world: World) -> None:
    world.script([{"text": "so far", "delay": 0.01}, {"wait": 60}], GOOD)
    client = await world.server()
    _, turn = client.command("smith.turn", text="go")
    await until(lambda: "so far" in client.text(), 10)
    with closing(sqlite3.connect(database(world), isolation_level=None)) as other:
        other.execute("begin immediate")
        began = time.monotonic()
        await asyncio.gather(client.run("smith.cancel"), turn)
        assert time.monotonic() - began < CANCEL_SECONDS
