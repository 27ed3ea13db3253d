"""Whole runs against a model server of somebody else, in both protocols, with calls side by side and faults."""

from collections.abc import Iterator

import pytest

from tests.e2e.aimock import calling, running, usage
from tests.e2e.command import smith
from tests.e2e.world import World

pytestmark = pytest.mark.aimock

FIXTURES = (
    {
        "match": {"userMessage": "compare", "hasToolResult": False},
        "response": {"content": "Let me look.", "toolCalls": calling("a.txt", "b.txt"), "usage": usage(110, 30)},
    },
    {
        "match": {"userMessage": "compare", "hasToolResult": True},
        "response": {"content": "They differ.", "usage": usage(190, 5)},
    },
    {"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "hmm", "usage": usage(9, 3)}},
    {
        "match": {"userMessage": "overload"},
        "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429},
    },
    {
        "match": {"userMessage": "cut"},
        "response": {"content": "cut in the middle"},
        "chunkSize": 5,
        "latency": 30,
        "truncateAfterChunks": 4,
    },
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("aimock"), *FIXTURES) as url:
        yield url


@pytest.fixture(params=["openai", "anthropic"])
def here(request: pytest.FixtureRequest, world: World, address: str) -> World:
    """A world whose provider is one of two, at this server; it waits for nothing."""
    name = request.param
    world.environ |= {"SMITH_PROVIDER": name, f"{name.upper()}_API_KEY": "sk-0123456789"}
    waits = "[llm_config]\nretry_backoff_ms = [1]\n"
    world.settings(f'{waits}[defaults]\nthinking = true\n[providers.{name}]\nbase_url = "{address}/v1"\nmodel = "m"\n')
    world.file("a.txt", "one\n")
    world.file("b.txt", "two\n")
    return world


async def test_calls_side_by_side_run_and_their_results_go_back(here: World) -> None:
    done = await smith(here, "run", "--json", "compare")
    assert done.code == 0, done.err
    assert [(line["tool"], line["is_error"]) for line in done.only("tool_finished")] == [("read", False)] * 2
    # Side by side they end in any order.
    assert sorted(line["result"].split()[-1] for line in done.only("tool_finished")) == ["one", "two"]
    (result,) = done.only("result")
    assert result["text"] == "Let me look.They differ."
    assert (result["usage"]["prompt_tokens"], result["usage"]["completion_tokens"]) == (300, 35)


async def test_reasoning_is_shown_beside_the_answer(here: World) -> None:
    done = await smith(here, "run", "--json", "think")
    assert "".join(line["text"] for line in done.only("thinking_delta")) == "hmm"
    assert done.only("result")[0]["text"] == "42"


async def test_a_refusal_is_tried_again_and_then_told(here: World) -> None:
    done = await smith(here, "run", "--json", "overload")
    (error,) = done.only("turn_error")
    assert (done.code, error["code"]) == (1, "rate_limited")
    assert len(done.only("llm_retry")) == 2
    assert "slow down" in done.err


async def test_an_answer_that_breaks_off_is_no_answer_and_its_text_stays(here: World) -> None:
    done = await smith(here, "run", "--json", "cut")
    (error,) = done.only("turn_error")
    assert (done.code, error["code"]) == (1, "stream_truncated")
    said = "".join(line["text"] for line in done.only("assistant_text_delta"))
    assert said and "cut in the middle".startswith(said)
    assert [line["text"] for line in done.only("assistant_text")] == [said]
