"""A conversation that fills the window, in real processes, seen from the model's server."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Done, ended, smith, start
from tests.e2e.internet import Internet, internet
from tests.e2e.world import World

LONG = "word " * 1600


@pytest.fixture
async def net(world: World, tmp_path: Path) -> AsyncIterator[Internet]:
    async with internet(tmp_path) as made:
        world.environ |= made.environ
        world.settings(f'[llm_config]\napi_url = "{made.url}/v1"\nmodel = "mine"\n')
        world.settings("[context_management]\nmax_tokens = 12000\n")
        yield made


async def chatted(world: World, *lines: str) -> Done:
    process = await start(world, "chat", "-c")
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    process.stdin.close()
    return await ended(process)


def texts(request: Any) -> list[str]:
    """What the messages of a request say, the system prompt left out."""
    return [message["content"] for message in request.body["messages"][1:]]


async def test_a_full_window_is_summed_up_and_a_later_process_goes_on_with_the_same(
    world: World, net: Internet
) -> None:
    first = await chatted(world, *(f"{number} {LONG}" for number in range(5)))
    at, asking = next((at, each) for at, each in enumerate(net.prompts) if "tools" not in each.body)
    answered, last = net.prompts[at + 1], net.prompts[-1]
    second = await smith(world, "run", "-c", "--json", "and now?")

    assert (first.code, second.code) == (0, 0)
    assert first.err.count("smith: compacting the conversation") == 1
    assert re.search(r"smith: compacted from \d+\.\dk to \d\.\dk tokens \(summary\)\n", first.err)
    assert "Sum up this conversation" in texts(asking)[0]
    summary, *rest = texts(answered)
    assert summary.endswith("no longer shown:]\n\nYes.")
    assert sum(LONG in text for text in rest) < 4
    assert texts(last)[: len(rest) + 1] == [summary, *rest]
    assert texts(net.prompts[-1]) == [*texts(last), "Yes.", "and now?"]
    assert second.only("history_compacted") == []


async def test_on_demand_everything_before_the_newest_prompt_is_summed_up_and_counted(
    world: World, net: Internet
) -> None:
    done = await chatted(world, "one" * 50, "two" * 50, "three", "/compact", "/context", "/usage", "four")

    assert done.code == 0
    assert "tokens: summary (4 messages)" in done.out
    assert [line.split()[0] for line in done.out.splitlines() if line.endswith("%")] == [
        *("system", "tools", "summary", "prompts", "answers", "thinking", "calls", "results", "other", "total")
    ]
    assert "4 messages are summed up" in done.out
    (requests,) = [line.split() for line in done.out.splitlines() if line.startswith("requests")]
    assert requests[-1] == "4"
    assert texts(net.prompts[-1])[1:] == ["three", "Yes.", "four"]


async def test_a_prompt_that_can_never_fit_fails_with_what_takes_the_space(world: World, net: Internet) -> None:
    done = await smith(world, "run", LONG * 10)

    assert (done.code, net.prompts) == (1, [])
    assert "The context is full" in done.err
    assert "prompts 20,0" in done.err


async def test_switched_off_everything_is_sent(world: World, net: Internet) -> None:
    world.settings("enabled = false\n")

    done = await chatted(world, *(f"{number} {LONG}" for number in range(6)), "/compact")

    assert len(texts(net.prompts[-1])) == 11
    assert "everything is sent as it is" in done.out


async def test_clearing_a_conversation_forgets_its_summary(world: World, net: Internet) -> None:
    await chatted(world, "one", "two", "/compact", "/clear", "three")
    await smith(world, "run", "-c", "four")

    assert texts(net.prompts[-1]) == ["three", "Yes.", "four"]


async def test_a_cancel_ends_a_compaction(world: World) -> None:
    world.script([{"text": "One."}], [{"text": "Two."}], [{"wait": 60}])
    client = await world.server()
    for prompt in ("one", "two"):
        await client.run("smith.turn", text=prompt)
    job = asyncio.ensure_future(client.run("smith.slash", line="/compact"))
    await client.event("compaction_started")

    stopped = await client.run("smith.cancel")

    assert stopped["cancelled"]
    assert (await asyncio.wait_for(job, 5))["error"]["kind"] == "cancelled"
    assert (await client.run("smith.slash", line="/context"))["data"]["covered"] == 0
