"""A model server that plays scripts by conversation and refuses what real providers refuse."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.llm.server import Line, Server, serving
from tests.llm.streams import DONE, calling, event, text

Messages = list[dict[str, Any]]
Step = dict[str, Any]
Reply = list[Step]
Asked = Callable[[Messages], dict[str, Any]]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}


class StrictModel:
    """A reply is a list of steps: a `text`, or a `call` with `arguments`, which may be made of the request.

    Each key of `scripts` is a text of the first message of a conversation; "" fits any. `refused` are
    the reasons why requests were answered with 400, `bodies` all requests.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self._scripts: dict[str, list[Reply]] = {}
        self._ids = itertools.count(1)
        self._server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server.url

    @property
    def requests(self) -> list[Messages]:
        """The messages of all requests."""
        return [body["messages"] for body in self.bodies]

    def of(self, prompt: str) -> list[dict[str, Any]]:
        """The requests of the conversation whose first message holds a text."""
        return [body for body in self.bodies if prompt in first_prompt(body["messages"])]

    def play(self, scripts: dict[str, list[Reply]]) -> None:
        """The replies from now on."""
        self._scripts = {key: list(replies) for key, replies in scripts.items()}

    @asynccontextmanager
    async def served(self) -> AsyncIterator["StrictModel"]:
        async with serving(self._answer) as self._server:
            yield self

    async def _answer(self, line: Line) -> None:
        assert self._server is not None
        asked = self._server.asked[-1]
        if not asked.body:
            await line.reply(200, b'{"data": [{"id": "mock"}]}', content_type="application/json")
            return
        self.bodies.append(asked.json)
        messages: Messages = asked.json["messages"]
        wrong = problem(messages)
        reply = self._next(messages) if not wrong else None
        if reply is None:
            self.refused.append(wrong or f"no reply is left for {first_prompt(messages)[:40]!r}")
            body = json.dumps({"error": {"message": self.refused[-1]}}).encode()
            await line.reply(400, body, content_type="application/json")
            return
        await line.stream(*self._pieces(reply, messages), event({}, reason="stop", usage=USAGE), DONE)

    def _next(self, messages: Messages) -> Reply | None:
        first = first_prompt(messages)
        replies = next((replies for key, replies in self._scripts.items() if key in first), [])
        return replies.pop(0) if replies else None

    def _pieces(self, reply: Reply, messages: Messages) -> list[bytes]:
        pieces = []
        for at, step in enumerate(reply):
            if "text" in step:
                pieces.append(text(step["text"]))
                continue
            made = step["arguments"]
            arguments = json.dumps(made(messages) if callable(made) else made)
            name = f"call_{next(self._ids)}"
            pieces.append(calling(index=at, id=name, type="function", name=step["call"], arguments=arguments))
        return pieces


def first_prompt(messages: Messages) -> str:
    """What a conversation began with."""
    return next((str(message["content"]) for message in messages if message["role"] == "user"), "")


def problem(messages: Sequence[dict[str, Any]]) -> str:
    """Why a provider would refuse these messages; "" when it would not."""
    if [message["role"] for message in messages[:2]] != ["system", "user"]:
        return "a conversation begins with a system message and a prompt"
    waiting: list[str] = []
    known: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return f"the result {message['tool_call_id']} answers no call"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"the calls {waiting} have no result"
        waiting += [call["id"] for call in message.get("tool_calls") or ()]
        if known & set(waiting) and message["role"] == "assistant":
            return f"of the ids {waiting} one was used before"
        known |= set(waiting)
        if message["role"] == "assistant" and not message.get("tool_calls") and not message.get("content"):
            return "a message of the assistant is empty"
    return f"the calls {waiting} have no result" if waiting else ""
