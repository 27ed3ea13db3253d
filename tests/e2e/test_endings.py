"""Answers that end otherwise than with their last word, from a real wire to the exit code."""

import json
from typing import Any

import pytest

from tests.e2e.command import smith
from tests.e2e.world import World
from tests.e2e.written_model import START, WrittenModel, answering, anthropic, openai
from tests.llm.streams import DONE, begun, calling, ending, event, more, sent, text

ANTHROPIC = "anthropic"
CUSTOM = "custom"


async def run(world: World, name: str, model: WrittenModel, *words: str) -> Any:
    async with answering(world, name, model):
        return await smith(world, "run", "-p", name, "--json", *words, "tell me")


async def test_a_paused_answer_goes_on_and_nobody_takes_its_first_part_for_the_whole(world: World) -> None:
    model = WrittenModel(anthropic("The first half, ", "pause_turn"), anthropic("the second.", "end_turn"))
    done = await run(world, ANTHROPIC, model)
    (result,) = done.only("result")
    assert (done.code, result["text"], result["stop_reason"]) == (0, "The first half, the second.", "completed")
    assert [(line["attempt"], line["paused"]) for line in done.only("response_continued")] == [(1, True)]
    assert "the provider paused the answer; going on (1)" in done.err
    _, assistant, asked = model.bodies[1]["messages"]
    assert (assistant["role"], asked["role"]) == ("assistant", "user")
    assert assistant["content"] == [{"type": "text", "text": "The first half, "}]
    assert "Go on" in json.dumps(asked["content"])


async def test_an_answer_that_stays_paused_fails_and_its_text_is_kept(world: World) -> None:
    model = WrittenModel(*[anthropic("more ", "pause_turn")] * 4)
    done = await run(world, ANTHROPIC, model)
    (result,) = done.only("result")
    assert (done.code, result["stop_reason"], result["text"]) == (1, "error", "more " * 4)
    assert [line["code"] for line in done.only("turn_error")] == ["paused"]


WRITE = {"name": "write", "arguments": json.dumps({"path": "a.txt", "content": "x"})}
WITHHELD = {
    "a refusal": (
        ANTHROPIC,
        (
            START,
            begun(0, "text"),
            more(0, "text", text="I would"),
            begun(1, "tool_use", id="c1", name="write", input=json.loads(WRITE["arguments"])),
            *ending("refusal"),
        ),
    ),
    "a content filter": (
        CUSTOM,
        (text("I would"), calling(index=0, id="c1", **WRITE), event(reason="content_filter"), DONE),
    ),
}


@pytest.mark.parametrize(("name", "answer"), WITHHELD.values(), ids=WITHHELD)
async def test_what_was_withheld_fails_with_a_word_about_it_and_no_call_runs(
    name: str, answer: tuple[bytes, ...], world: World
) -> None:
    done = await run(world, name, WrittenModel(answer), "--yes")
    (result,) = done.only("result")
    assert (done.code, result["text"], result["stop_reason"]) == (1, "I would", "error")
    assert [line["code"] for line in done.only("turn_error")] == ["content_filter"]
    assert "withheld the rest of this answer" in done.err
    assert not (world.root / "a.txt").exists()


HALF = json.dumps({"path": "a.txt", "content": "x"})[:-8]
CUT_CALL = (begun(1, "tool_use", id="c1", name="write", input={}), more(1, "input_json", partial_json=HALF))
BROKEN = {
    "an error": (
        ANTHROPIC,
        (*anthropic("Half")[:3], sent("error", error={"type": "overloaded_error", "message": "busy"})),
        "overloaded",
    ),
    "an end without its mark": (ANTHROPIC, (*anthropic("Half")[:3], *CUT_CALL), "stream_truncated"),
    "an error of the other protocol": (
        CUSTOM,
        (text("Half"), b'data: {"error": {"message": "busy", "code": 502}}\n\n'),
        "provider_error",
    ),
    "an end without its mark in the other protocol": (
        CUSTOM,
        (text("Half"), calling(index=0, id="c1", name="write", arguments=HALF)),
        "stream_truncated",
    ),
}


@pytest.mark.parametrize(("name", "answer", "code"), BROKEN.values(), ids=BROKEN)
async def test_what_broke_off_fails_runs_nothing_and_its_text_is_known_to_the_next_prompt(
    name: str, answer: tuple[bytes, ...], code: str, world: World
) -> None:
    done = await run(world, name, WrittenModel(answer), "--yes")
    (result,) = done.only("result")
    assert (done.code, result["text"], result["stop_reason"]) == (1, "Half", "error")
    assert [line["code"] for line in done.only("turn_error")] == [code]
    assert not (world.root / "a.txt").exists()
    then = WrittenModel(anthropic("Fine.") if name == ANTHROPIC else openai("Fine."))
    (world.home / "smith" / "config.toml").unlink()
    assert (await run(world, name, then, "-c")).code == 0
    (body,) = then.bodies
    said = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    assert said == [[{"type": "text", "text": "Half"}] if name == ANTHROPIC else "Half"]
