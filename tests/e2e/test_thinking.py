"""The flags that ask for thinking, from the command line to the body of the request."""

from typing import Any

import pytest

from tests.e2e.command import ended, smith, start
from tests.e2e.world import World
from tests.e2e.written_model import WrittenModel, answering, anthropic, openai

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
