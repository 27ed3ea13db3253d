"""Requests that fail, through a real server and over a real wire."""

import json
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.world import World
from tests.llm.server import Line, Server, serving
from tests.llm.streams import DONE, event, text

QUICK = "empty_response_retry_backoff_ms = [0]\n[llm_config]\nretry_backoff_ms = [0]\n"
NO_MODEL = b'{"data": []}'


def body(line: str) -> bytes:
    return json.dumps({"error": {"message": line}}).encode()


class Flaky:
    """Fails as often as told with a status, then gives the next of `answers`, again and again."""

    def __init__(self, failures: int, *answers: tuple[bytes, ...], status: int = 503) -> None:
        self.asked = 0
        self._failures = failures
        self._answers = answers
        self._status = status
        self.server: Server | None = None

    async def __call__(self, line: Line) -> None:
        assert self.server is not None
        if not self.server.asked[-1].body:
            await line.reply(200, NO_MODEL, content_type="application/json")
            return
        at, self.asked = self.asked, self.asked + 1
        turn, step = divmod(at, self._failures + 1)
        if step < self._failures:
            await line.reply(self._status, body("busy"), content_type="application/json")
            return
        await line.stream(*self._answers[min(turn, len(self._answers) - 1)])


EMPTY = (event({}, reason="stop", usage={"prompt_tokens": 5, "completion_tokens": 1}), DONE)
GOOD = (text("Fine."), event({}, reason="stop", usage={"prompt_tokens": 5, "completion_tokens": 1}), DONE)


async def turn(world: World, flaky: Flaky, settings: str = QUICK) -> tuple[Client, dict[str, Any]]:
    async with serving(flaky) as server:
        flaky.server = server
        top, _, rest = settings.partition("[llm_config]\n")
        world.settings(f'{top}[llm_config]\napi_url = "{server.url}"\nmodel = "mock"\n{rest}')
        client = await world.server()
        return client, await client.run("smith.turn", text="go")


async def test_two_failures_before_each_of_three_empty_answers_are_nine_requests_and_no_more(world: World) -> None:
    flaky = Flaky(2, EMPTY)
    client, answer = await turn(world, flaky)
    assert (answer["stop_reason"], answer["error"]["code"], flaky.asked) == ("error", "empty_response", 9)
    assert client.kinds().count("llm_request_started") == 9
    assert answer["usage"]["input"] == 15


async def test_a_failure_that_passes_is_not_noticed_but_told(world: World) -> None:
    flaky = Flaky(2, GOOD)
    client, answer = await turn(world, flaky)
    assert (answer["text"], flaky.asked) == ("Fine.", 3)
    retried = [event for event in client.events if event["kind"] == "llm_retry"]
    assert [(each["layer"], each["attempt"], each["error"]["kind"]) for each in retried] == [
        ("transport", 2, "transport"),
        ("transport", 3, "transport"),
    ]


@pytest.mark.parametrize(("status", "asked"), [(500, 3), (503, 3), (429, 3), (400, 1), (401, 1), (404, 1)])
async def test_what_cannot_pass_is_asked_once_and_what_can_three_times(world: World, status: int, asked: int) -> None:
    flaky = Flaky(10, GOOD, status=status)
    _, answer = await turn(world, flaky)
    assert (answer["stop_reason"], flaky.asked) == ("error", asked)
    assert answer["error"]["kind"] == "transport"


async def test_without_retries_there_is_one_request(world: World) -> None:
    flaky = Flaky(10, GOOD)
    _, answer = await turn(world, flaky, "[llm_config]\nretry_max_retries = 0\n")
    assert (answer["stop_reason"], flaky.asked) == ("error", 1)
