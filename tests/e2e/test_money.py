"""What conversations cost, through real processes: limits, sub-agents, going on in another process, changing models."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Done, smith
from tests.e2e.internet import Internet, internet
from tests.e2e.strict_model import StrictModel
from tests.e2e.world import World

PRICE = '[pricing."scripted/script"]\ninput = 3\noutput = 15\ncache_write = 3.75\ncache_read = 0.3\n'
CUSTOM = '[pricing."custom/mock"]\ninput = 3\noutput = 15\n'
READ = {"call": "read", "arguments": {"path": "a.py"}}
CHILD = {"call": "dispatch", "arguments": {"role": "explorer", "task": "child-x"}}
REPORT = {"call": "report", "arguments": {"status": "ok", "summary": "seen"}}
CUT = {"error": {"code": "stream_truncated", "message": "cut"}}
DOLLAR = {"usage": {"input": 0, "output": 66_667}}
"""A request that costs a little more than a dollar."""


def used(fresh: int = 0, output: int = 0, write: int = 0, read: int = 0) -> dict[str, Any]:
    return {"usage": {"input": fresh, "cache_write": write, "cache_read": read, "output": output}}


async def run(
    world: World, prompt: str, *replies: list[dict[str, Any]], words: tuple[str, ...] = (), **more: Any
) -> Done:
    """One process with one prompt, in the conversation of the one before; the limit of costs among `words`."""
    world.script(*replies, **more)
    return await smith(world, "run", "--json", "-c", *words, prompt)


async def test_five_prompts_in_five_processes_cost_what_was_worked_out_by_hand(world: World) -> None:
    world.settings(PRICE)
    costs = []
    replies: list[tuple[list[list[dict[str, Any]]], dict[str, Any]]] = [
        ([[{"text": "one"}, used(3, 81, write=109_075)]], {}),
        ([[{"text": "two"}, used(9, 9, read=17_102)]], {}),
        ([[CHILD, used(100, 10)], [{"text": "so"}, used()]], {"child-x": [[REPORT, used(40, 12, read=900)]]}),
        ([[{"text": "three"}, used(500, 20), CUT]], {}),
        ([[{"text": "three"}, used(20, 20, read=480)]], {}),
    ]
    for at, (own, others) in enumerate(replies):
        done = await run(world, f"prompt {at}", *own, others=others)
        assert done.code == (1 if at == 3 else 0), done.err
        costs.append(done.lines[-1]["cost_usd"])
    assert costs == pytest.approx([0.41025525, 0.0052926, 0.00045 + 0.00057, 0.0018, 0.000504], abs=1e-9)
    total = 0.41887185
    # In a sixth and a seventh process the limit counts all that was spent before.
    above = await run(world, "six", [{"text": "six"}, used()], words=(f"--max-budget-usd={total + 1e-6}",))
    below = await run(world, "seven", [{"text": "seven"}, used()], words=(f"--max-budget-usd={total - 1e-6}",))
    assert (above.code, below.code) == (0, 2)
    assert below.only("llm_request_started") == []
    told = await smith(world, "run", "--json", "-c", "/usage")
    table = told.lines[-1]["text"]
    assert "cost" in table
    assert "this project: $0.42 today, $0.42 in all" in table
    row = next(line for line in table.splitlines() if line.startswith("cost")).split()
    heads = next(line for line in table.splitlines() if "explorer" in line).split()
    assert dict(zip(heads, row[1:], strict=True)) == {"explorer": "$0.0006", "parent": "$0.42", "total": "$0.42"}


async def test_the_answer_that_reaches_the_limit_is_delivered_and_stored_and_its_calls_do_not_run(world: World) -> None:
    world.settings(PRICE)
    world.file("a.py", "x = 1\n")
    done = await run(
        world, "go", [{"text": "I look."}, READ, DOLLAR], [{"text": "Never."}], words=("--max-budget-usd", "1")
    )
    last = done.lines[-1]
    assert (done.code, last["text"], last["stop_reason"]) == (2, "I look.", "budget_exhausted")
    assert last["cost_usd"] == pytest.approx(1.000005)
    (exceeded,) = done.only("budget_exceeded")
    assert (exceeded["spent_usd"], exceeded["limit_usd"]) == (pytest.approx(1.000005), 1.0)
    assert [line["code"] for line in done.only("tool_finished")] == ["skipped"]
    assert "max_budget_usd" in done.err
    again = await run(world, "again", [{"text": "Stored."}])
    shown = await smith(world, "run", "-c", "/pager")
    assert again.code == 0
    assert "I look." in shown.out


@pytest.mark.parametrize(
    ("limit", "code"), [("1.0001", 0), ("1.000005", 2), ("0.5", 2)], ids=["above", "exactly", "below"]
)
async def test_a_last_answer_that_reaches_the_limit_is_told_by_the_exit_code(
    world: World, limit: str, code: int
) -> None:
    world.settings(PRICE)
    world.script([{"text": "All."}, DOLLAR])
    done = await smith(world, "run", "--max-budget-usd", limit, "go")
    assert (done.code, done.out) == (code, "All.\n")
    assert "smith: tokens: 0 in, 66667 out\nsmith: cost: $1.00\n" in done.err


async def test_the_limit_wins_over_a_failure_which_is_told_too(world: World) -> None:
    world.settings(PRICE)
    done = await run(world, "go", [{"text": "Half"}, DOLLAR, CUT], words=("--max-budget-usd", "1"))
    assert done.code == 2
    assert "smith: cut" in done.err
    assert done.lines[-1]["text"] == "Half"


async def test_sub_agents_count_and_stop_their_parent(world: World) -> None:
    world.settings(PRICE)
    done = await run(
        world,
        "go",
        [CHILD, used()],
        [{"text": "Never."}],
        words=("--max-budget-usd", "1"),
        others={"child-x": [[REPORT, DOLLAR]]},
    )
    assert (done.code, done.lines[-1]["cost_usd"]) == (2, pytest.approx(1.000005))
    assert len(done.only("llm_request_started")) == 2


async def test_a_setting_limits_every_face_and_a_model_without_a_price_is_named(
    world: World, strict: StrictModel
) -> None:
    strict.play({"": [[{"text": "Fine."}], [{"text": "Fine."}]]})
    world.settings("max_budget_usd = 0.0001\n")
    world.use_at(strict.url)
    unknown = await smith(world, "run", "--json", "go")
    assert (unknown.code, unknown.lines[-1]["cost_usd"]) == (0, None)
    assert '[pricing."custom/mock"]' in unknown.err
    world.settings(CUSTOM)
    known = await smith(world, "run", "--json", "go")
    assert (known.code, known.lines[-1]["cost_usd"]) == (2, pytest.approx(100 * 3e-6 + 10 * 15e-6))
    assert "pricing" not in known.err


@pytest.mark.parametrize("amount", ["0", "-1", "much", "nan", "inf"])
async def test_an_amount_that_is_none_is_refused_by_name(world: World, amount: str) -> None:
    done = await smith(world, "run", f"--max-budget-usd={amount}", "hi")
    assert (done.code, done.out) == (1, "")
    assert repr(amount) in done.err


async def test_two_processes_see_what_the_other_spent_and_faces_are_told(world: World) -> None:
    world.settings(PRICE)
    world.script([{"text": "One."}, DOLLAR], [{"text": "Two."}, DOLLAR], loop=True)
    first = await smith(world, "run", "--json", "hi")
    client = await world.server()
    answer = await client.run("smith.turn", text="more", conversation=first.lines[-1]["conversation"])
    assert answer["usage"]["cost"] == pytest.approx(1.000005)
    status = await client.run("smith.status")
    (session,) = [each for each in status["sessions"] if each["conversation"] == answer["conversation"]]
    assert session["cost"] == pytest.approx(2.00001)


async def test_what_another_process_spent_in_between_counts_when_a_conversation_comes_back(world: World) -> None:
    world.settings(PRICE)
    world.script([{"text": "That was dear."}, DOLLAR], loop=True)
    first, second = await world.server(), await world.server()
    name = (await first.run("smith.turn", text="one"))["conversation"]
    for client, cost in ((second, 2.00001), (first, 3.000015)):
        await client.run("smith.conversations", op="take_over", conversation=name)
        await client.run("smith.turn", text="next", conversation=name)
        status = await client.run("smith.status")
        (session,) = [each for each in status["sessions"] if each["conversation"] == name]
        assert session["cost"] == pytest.approx(cost)


async def test_the_model_can_be_changed_between_two_requests_of_a_turn(world: World, strict: StrictModel) -> None:
    strict.play(
        {
            "": [
                [{"call": "bash", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}}],
                [{"text": "Done."}],
            ]
        }
    )
    world.use_at(strict.url)
    world.settings('[approval]\nmode = "auto"\n')
    client = await world.server()
    turn = asyncio.ensure_future(client.run("smith.turn", text="go"))
    async with asyncio.timeout(20):
        while not strict.bodies:
            await asyncio.sleep(0.02)
    told = await client.run("smith.slash", line="/model other")
    assert told["text"] == "The model is other from the next request on."
    world.file("go", "")
    answer = await turn
    assert (answer["text"], strict.refused) == ("Done.", [])
    assert [body["model"] for body in strict.bodies] == ["mock", "other"]
    assert strict.bodies[1]["messages"][: len(strict.bodies[0]["messages"])] == strict.bodies[0]["messages"]


@pytest.fixture
async def net(world: World, tmp_path: Path) -> AsyncIterator[Internet]:
    async with internet(tmp_path) as made:
        world.environ |= made.environ
        yield made


async def test_models_lists_what_the_provider_offers_and_offline_what_it_offered(world: World, net: Internet) -> None:
    world.environ["OPENROUTER_API_KEY"] = "k"
    net.models = [
        {"id": "b/two", "context_length": 1000, "pricing": {"prompt": "0.000002", "completion": "0.00001"}},
        {"id": "a/one:free", "context_length": 9000, "pricing": {"prompt": "0", "completion": "0"}},
    ]
    there = await smith(world, "models")
    assert (there.code, there.err) == (0, "")
    lines = [line.split() for line in there.out.splitlines()]
    assert lines[0][:3] == ["model", "window", "output"]
    assert lines[1:3] == [["a/one:free", "9,000", "-", "free", "free", "free"], ["b/two", "1,000", "-", "2", "10", "2"]]
    world.environ["HTTPS_PROXY"] = "http://127.0.0.1:9"
    gone = await smith(world, "models", "--json")
    assert gone.code == 0
    assert [json.loads(line)["model"] for line in gone.out.splitlines()] == ["a/one:free", "b/two"]
    assert "could not be asked; this is what it offered on" in gone.err


async def test_without_a_key_models_shows_what_is_known_without_asking(world: World) -> None:
    done = await smith(world, "models", "-p", "anthropic", "--json")
    found = {line["model"]: line["price"] for line in map(json.loads, done.out.splitlines())}
    assert done.code == 0
    assert found["claude-opus-5"] == {"input": 5.0, "output": 25.0, "cache_write": 6.25, "cache_read": 0.5}
    assert "ANTHROPIC_API_KEY" in done.err
    assert "known without it" in done.err


async def test_a_turn_out_of_tool_calls_has_an_exit_code_of_its_own(world: World) -> None:
    world.settings("tool_step_budget = 1\n")
    world.file("a.py", "x = 1\n")
    done = await run(world, "go", [READ, READ], [{"text": "Never."}])
    assert done.code == 4


async def test_sub_agents_are_part_of_what_a_run_used(world: World) -> None:
    world.settings(PRICE)
    done = await run(
        world, "go", [CHILD, used(10, 1)], [{"text": "so"}, used(20, 2)], others={"child-x": [[REPORT, used(40, 4)]]}
    )
    last = done.lines[-1]
    assert (last["usage"]["prompt_tokens"], last["usage"]["completion_tokens"]) == (70, 7)
    assert last["cost_usd"] == pytest.approx(70 * 3e-6 + 7 * 15e-6)


async def test_a_summary_that_somebody_asks_for_costs_and_is_refused_at_the_limit(world: World) -> None:
    world.settings(PRICE)
    for prompt in ("one", "two"):
        await run(world, prompt, [{"text": "Yes."}, used()])
    paid = await run(world, "/compact", [{"text": "They agreed."}, DOLLAR])
    refused = await run(world, "/compact", [{"text": "Never."}], words=("--max-budget-usd=1",))
    assert (paid.code, refused.code) == (0, 2)
    assert "max_budget_usd" in refused.err
    told = await smith(world, "run", "-c", "/usage")
    assert "summary" in told.out
    assert "this project: $1.00 today, $1.00 in all" in told.out
