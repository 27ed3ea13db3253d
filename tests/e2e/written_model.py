"""A model server of either protocol whose answers are written beforehand, byte by byte."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.e2e.world import World
from tests.llm.server import Line, Server, serving
from tests.llm.streams import DONE, begun, ending, event, more, sent, text

Answer = tuple[bytes, ...]
START = sent("message_start", message={"usage": {"input_tokens": 9, "output_tokens": 1}})


class WrittenModel:
    """Gives the next of its answers to each prompt, and lists no models. `bodies` are all prompts."""

    def __init__(self, *answers: Answer) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.server: Server | None = None
        self._answers = list(answers)

    async def __call__(self, line: Line) -> None:
        assert self.server is not None
        asked = self.server.asked[-1]
        if not asked.body:
            await line.reply(200, b'{"data": []}', content_type="application/json")
            return
        self.bodies.append(asked.json)
        await line.stream(*self._answers.pop(0))


@asynccontextmanager
async def answering(world: World, name: str, model: WrittenModel, settings: str = "") -> AsyncIterator[None]:
    """The provider `name` is that model; `settings` are more of its table and the tables behind it."""
    async with serving(model) as server:
        model.server = server
        world.environ |= {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
        world.settings(f'[providers.{name}]\nbase_url = "{server.url}"\nmodel = "claude-sonnet-5"\n{settings}')
        yield


def anthropic(words: str, reason: str = "end_turn") -> Answer:
    """An Anthropic answer of these words that ends so."""
    return (START, begun(0, "text"), more(0, "text", text=words), *ending(reason, output_tokens=5))


def openai(words: str, reason: str = "stop") -> Answer:
    """The same in the other protocol."""
    return (text(words), event(reason=reason, usage={"prompt_tokens": 9, "completion_tokens": 5}), DONE)
