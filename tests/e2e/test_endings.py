"""Answers that end otherwise than with their last word, from a real wire to the exit code."""

import json
from typing import Any

import pytest

from tests.e2e.command import smith
from tests.e2e.world import World
from tests.llm.server import Line, Server, serving
from tests.llm.streams import DONE, begun, calling, ending, event, more, sent, text

ANTHROPIC = "anthropic"
CUSTOM = "custom"
START = sent("message_start", message={"usage": {"input_tokens": 9, "output_tokens": 1}})


class Model:
    """Gives the next of its answers to each prompt, and lists no models."""

    def __init__(self, *answers: tuple[bytes, ...]) -> None:
        self._answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.server: Server | None = None

    async def __call__(self, line: Line) -> None:
        assert self.server is not None
        asked = self.server.asked[-1]
        if not asked.body:
            await line.reply(200, b'{"data": []}', content_type="application/json")
            return
        self.bodies.append(asked.json)
        await line.stream(*self._answers.pop(0))


async def run(world: World, name: str, model: Model, *words: str) -> Any:
    async with serving(model) as server:
        model.server = server
        world.environ |= {"ANTHROPIC_API_KEY": "k"}
        world.settings(f'[providers.{name}]\nbase_url = "{server.url}"\nmodel = "claude-sonnet-5"\n')
        return await smith(world, "run", "-p", name, "--json", *words, "tell me")


def written(words: str, reason: str) -> tuple[bytes, ...]:
    """An Anthropic answer of these words that ends so."""
    return (START, begun(0, "text"), more(0, "text", text=words), *ending(reason, output_tokens=5))


async def test_a_paused_answer_goes_on_and_nobody_takes_its_first_part_for_the_whole(world: World) -> None:
    model = Model(written("The first half, ", "pause_turn"), written("the second.", "end_turn"))
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
    model = Model(*[written("more ", "pause_turn")] * 4)
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
    done = await run(world, name, Model(answer), "--yes")
    (result,) = done.only("result")
    assert (done.code, result["text"], result["stop_reason"]) == (1, "I would", "error")
    assert [line["code"] for line in done.only("turn_error")] == ["content_filter"]
    assert "withheld the rest of this answer" in done.err
    assert not (world.root / "a.txt").exists()
