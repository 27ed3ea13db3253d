"""The flags that ask for thinking, from the command line to the body of the request."""

from typing import Any

import pytest

from tests.e2e.command import ended, smith, start
from tests.e2e.world import World
from tests.e2e.written_model import START, WrittenModel, answering, anthropic, openai
from tests.llm.streams import begun, ending, more

ANSWERS = {"anthropic": anthropic("Fine."), "openai": openai("Fine."), "custom": openai("Fine.")}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
THINKS = "[defaults]\nthinking = true\n"
EFFORT = 'reasoning_effort = "high"\n'
WISHES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "thinking": ("anthropic", "", "--think", {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}}),
    "no thinking": ("anthropic", THINKS, "--no-think", {}),
    "an effort that stays": ("openai", EFFORT, "--think", {"reasoning_effort": "high"}),
    "no effort": ("openai", EFFORT, "--no-think", {}),
    "no effort of an address": ("custom", EFFORT, "--no-think", {}),
}
ASKED = ("thinking", "output_config", "reasoning_effort")


def wished(body: dict[str, Any]) -> dict[str, Any]:
    return {key: body[key] for key in ASKED if key in body}


@pytest.mark.parametrize(("name", "settings", "flag", "asked"), WISHES.values(), ids=WISHES)
async def test_a_flag_wins_over_the_settings(
    name: str, settings: str, flag: str, asked: dict[str, Any], world: World
) -> None:
    model = WrittenModel(ANSWERS[name])
    async with answering(world, name, model, settings):
        done = await smith(world, "run", "-p", name, flag, "go")
    assert (done.code, done.out) == (0, "Fine.\n")
    assert [wished(body) for body in model.bodies] == [asked]
    assert "has no effect" not in done.err


async def test_a_chat_takes_the_flag_and_it_holds_for_each_prompt(world: World) -> None:
    model = WrittenModel(ANSWERS["anthropic"], ANSWERS["anthropic"])
    async with answering(world, "anthropic", model):
        process = await start(world, "chat", "-p", "anthropic", "--think")
        assert process.stdin is not None
        process.stdin.write(b"one\ntwo\n")
        process.stdin.close()
        done = await ended(process)
    assert done.code == 0
    assert [wished(body)["thinking"] for body in model.bodies] == [ADAPTIVE, ADAPTIVE]


async def test_a_wish_to_think_without_effect_is_told_once(world: World) -> None:
    model = WrittenModel(ANSWERS["openai"])
    async with answering(world, "openai", model):
        done = await smith(world, "run", "-p", "openai", "--think", "go")
    assert (done.code, [wished(body) for body in model.bodies]) == (0, [{}])
    assert done.err.count("The wish to think has no effect with openai") == 1


SIGNED = {"type": "thinking", "thinking": "Let me look.", "signature": "c2ln+/=="}
HIDDEN = {"type": "redacted_thinking", "data": "b3Bh/+=="}
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.py"}}
LOOKING = (
    START,
    begun(0, "thinking", thinking="", signature=""),
    more(0, "thinking", thinking="Let me look."),
    more(0, "signature", signature="c2ln+/=="),
    begun(1, "redacted_thinking", data="b3Bh/+=="),
    begun(2, "tool_use", id="t1", name="read", input={}),
    more(2, "input_json", partial_json='{"path": "a.py"}'),
    *ending("tool_use", output_tokens=20),
)


async def test_reasoning_goes_back_in_its_place_byte_for_byte_also_after_a_restart(world: World) -> None:
    world.file("a.py", "one\n")
    model = WrittenModel(LOOKING, ANSWERS["anthropic"], ANSWERS["anthropic"])
    async with answering(world, "anthropic", model):
        for words in (["look"], ["-c", "and then"]):
            assert (await smith(world, "run", "-p", "anthropic", "--think", *words)).code == 0
    for body in model.bodies[1:]:
        assert body["messages"][1]["content"] == [SIGNED, HIDDEN, CALL]


async def test_a_budget_of_thinking_has_room_beside_it_and_one_without_is_refused_unsent(world: World) -> None:
    model = WrittenModel(ANSWERS["anthropic"])
    budget = "thinking_budget = 5000\n"
    async with answering(world, "anthropic", model, budget):
        assert (await smith(world, "run", "-p", "anthropic", "--think", "go")).code == 0
        world.settings("max_output_tokens = 5000\n")
        done = await smith(world, "run", "-p", "anthropic", "--think", "go")
    (body,) = model.bodies
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 5000}
    assert body["max_tokens"] > 5000
    assert done.code == 1
    assert "Raise `providers.anthropic.max_output_tokens`" in done.err
