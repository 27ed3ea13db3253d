"""Figures worked out by hand: what providers report, in their own spelling, and what it has to cost."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import agent_error
from smith_server.core.messages import Text, Usage
from smith_server.core.ports import Done, Failed
from smith_server.llm.anthropic_stream import AnthropicReader
from smith_server.llm.catalog import Catalog
from smith_server.llm.model_facts import facts
from smith_server.llm.openai_stream import OpenAIReader
from smith_server.llm.presets import PRESETS
from smith_server.llm.pricing import FREE, Price, Tariff, cost_of, in_dollars, price_of, tariff

OWN = {
    "openai/gpt-5.6-luna": {"input": 2, "output": 8, "cache_read": 0.5},
    "custom/mine": {"input": 3.0, "output": 15.0, "cache_write": 3.75, "cache_read": 0.3},
    "openrouter/own": {"input": 1, "output": 1},
}
LISTED = {
    "id": "anthropic/claude-sonnet-5",
    "pricing": {
        "prompt": "0.000003",
        "completion": "0.000015",
        "input_cache_read": "0.0000003",
        "input_cache_write": "0.00000375",
    },
}
SONNET, ROUTED, LUNA = "claude-sonnet-5", "anthropic/claude-sonnet-5", "gpt-5.6-luna"


def own_count(fresh: int, output: int, write: int = 0, read: int = 0) -> dict[str, Any]:
    """As Anthropic counts: each token once."""
    cached = {"cache_creation_input_tokens": write, "cache_read_input_tokens": read}
    return {"input_tokens": fresh, "output_tokens": output, **cached}


def whole(prompt: int, output: int, read: int = 0, write: int = 0, **more: Any) -> dict[str, Any]:
    """As OpenAI counts: what came from a cache is part of the prompt."""
    details = {"cached_tokens": read, "cache_write_tokens": write}
    return {"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": details, **more}


BYOK = {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}
RECORDS: list[tuple[str, str, dict[str, Any], Usage, float | None]] = [
    ("anthropic", SONNET, own_count(1000, 500), Usage(1000, 0, 0, 500), 0.0105),
    ("anthropic", SONNET, own_count(3, 81, 109_075), Usage(3, 109_075, 0, 81), 0.41025525),
    ("anthropic", SONNET, own_count(40, 12, 0, 900), Usage(40, 0, 900, 12), 0.00057),
    ("anthropic", "claude-opus-5", own_count(10, 400, 2000, 30_000), Usage(10, 2000, 30_000, 400), 0.03755),
    ("anthropic", "claude-haiku-4-5-20251001", own_count(200_000, 64_000), Usage(200_000, 0, 0, 64_000), 0.52),
    ("anthropic", "CLAUDE-OPUS-4-8", own_count(1, 1), Usage(1, 0, 0, 1), 0.00003),
    ("anthropic", "claude-unheard-of", own_count(1, 1), Usage(1, 0, 0, 1), None),
    ("openai", LUNA, whole(1000, 100), Usage(1000, 0, 0, 100), 0.0028),
    ("openai", LUNA, whole(17_111, 9, 17_102), Usage(9, 0, 17_102, 9), 0.008641),
    ("openai", LUNA, whole(500, 20, 480), Usage(20, 0, 480, 20), 0.00044),
    ("openai", "gpt-unheard-of", whole(100, 10), Usage(100, 0, 0, 10), None),
    ("openrouter", ROUTED, whole(1000, 50, 600, 300), Usage(100, 300, 600, 50), 0.002355),
    ("openrouter", ROUTED, whole(100, 10), Usage(100, 0, 0, 10), 0.00045),
    ("openrouter", ROUTED, whole(100, 10, cost=0.0123), Usage(100, 0, 0, 10), 0.0123),
    ("openrouter", "some/free:free", whole(100, 10, cost=0), Usage(100, 0, 0, 10), 0.0),
    ("openrouter", "some/other", whole(100, 10, **BYOK), Usage(100, 0, 0, 10), 0.021),
    ("openrouter", "own", whole(100, 10, cost=0.5), Usage(100, 0, 0, 10), 0.00011),
    ("custom", "mine", whole(17_111, 9, 17_102), Usage(9, 0, 17_102, 9), 0.0052926),
    ("custom", "mine", whole(500, 20), Usage(500, 0, 0, 20), 0.0018),
    ("custom", "another", whole(100, 10, cost=0.5), Usage(100, 0, 0, 10), None),
]


def answered(provider: str, usage: dict[str, Any]) -> Done:
    """What the reader of the provider's dialect makes of an answer with this usage."""
    preset = PRESETS[provider]
    reader = (AnthropicReader if preset.dialect == "anthropic" else OpenAIReader)(preset, "application/json")
    body: dict[str, Any] = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    if preset.dialect == "anthropic":
        body = {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "usage": usage}
    reader.feed(json.dumps(body).encode())
    done = reader.end()[-1]
    assert isinstance(done, Done)
    return done


@pytest.fixture
async def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """With what an OpenRouter told of its models."""
    made, router = Catalog(tmp_path_factory.mktemp("cache")), PRESETS["openrouter"]

    async def fetch(path: str, body: bytes, base: str) -> bytes:
        return json.dumps({"data": [LISTED]}).encode()

    await made.refresh(router, lambda: facts(router, "", fetch))
    return made


async def test_twenty_reports_of_four_providers_cost_what_was_worked_out_by_hand(catalog: Catalog) -> None:
    found = []
    for provider, model, usage, _, _ in RECORDS:
        known = catalog.look(PRESETS[provider], model).price
        found.append(tariff(provider, model, OWN, known).bill(answered(provider, usage)))
    tokens = [msgspec.structs.replace(each, requests=0, cost=0.0, unpriced=0) for each in found]
    assert tokens == [record[3] for record in RECORDS]
    assert [each.known_cost for each in found] == [
        pytest.approx(record[4], abs=1e-9) if record[4] is not None else None for record in RECORDS
    ]
    total = sum(found, Usage())
    assert (total.requests, total.unpriced, total.known_cost) == (20, 3, None)
    assert total.cost == pytest.approx(1.03409385, abs=1e-9)


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("ollama", "gemma4:latest", FREE),
        ("ollama", "big:120b-cloud", None),
        ("local", "gemma-3-270m", FREE),
        ("scripted", "script", FREE),
        ("custom", "mine", Price(3.0, 15.0, 3.75, 0.3)),
        ("Custom", "MINE-2026-01-31", Price(3.0, 15.0, 3.75, 0.3)),
        ("custom", "another", None),
    ],
)
def test_what_runs_here_is_free_and_what_nobody_priced_is_not(
    provider: str, model: str, expected: Price | None
) -> None:
    assert tariff(provider, model, OWN, {}).price == expected


def test_a_price_of_ones_own_goes_before_what_is_free_and_what_is_known() -> None:
    own = {"ollama/gemma4": {"input": 1, "output": 2}, "anthropic/m": {"input": 1, "output": 2}}
    expected = Tariff(Price(1, 2, 1.25, 0.1), is_own=True)
    assert tariff("ollama", "gemma4", own, {}) == expected
    assert tariff("anthropic", "m", own, {"input": 9, "output": 9}) == expected


@pytest.mark.parametrize("table", [{}, {"input": 1}, {"output": 1, "cache_read": 1}])
def test_a_price_needs_input_and_output(table: dict[str, float]) -> None:
    assert price_of(table) is None


FAILURE = agent_error("transport", "overloaded", "too busy")
PRICED, UNKNOWN = Tariff(Price(3, 15, 3.75, 0.3)), Tariff()


@pytest.mark.parametrize(
    ("costs", "answer", "expected"),
    [
        (PRICED, Failed(FAILURE, (Text("Half"),), Usage(500, 0, 0, 20)), Usage(500, 0, 0, 20, 1, 0.0018)),
        (PRICED, Failed(FAILURE), Usage(requests=1)),
        (UNKNOWN, Failed(FAILURE), Usage(requests=1)),
        (PRICED, Failed(FAILURE, (Text("Half"),)), Usage(requests=1, unpriced=1)),
        (PRICED, Done((Text("All"),), "stop"), Usage(requests=1, unpriced=1)),
        (Tariff(FREE), Done((Text("All"),), "stop"), Usage(requests=1)),
        (UNKNOWN, Done((Text("All"),), "stop", Usage(1, 0, 0, 1)), Usage(1, 0, 0, 1, 1, 0.0, 1)),
    ],
    ids=["cut, counted", "refused", "refused, unknown", "cut, uncounted", "uncounted", "free", "unknown price"],
)
def test_what_is_not_counted_or_not_priced_has_no_known_cost(
    costs: Tariff, answer: Done | Failed, expected: Usage
) -> None:
    assert costs.bill(answer) == expected


@pytest.mark.parametrize(
    ("pricing", "expected"),
    [
        (
            {"prompt": "0.000001", "completion": "0.000002"},
            {"input": 1.0, "output": 2.0, "cache_write": 1.0, "cache_read": 1.0},
        ),
        ({"prompt": "0", "completion": "0"}, {"input": 0.0, "output": 0.0, "cache_write": 0.0, "cache_read": 0.0}),
        ({"prompt": "-1", "completion": "-1"}, {}),
        ({"prompt": "0.1"}, {}),
        ({"prompt": "cheap", "completion": True}, {}),
        ({"prompt": "nan", "completion": "inf"}, {}),
    ],
    ids=["no word of a cache", "free", "it depends", "half", "no numbers", "odd numbers"],
)
async def test_prices_in_a_list_of_models_are_taken_as_far_as_they_are_some(
    pricing: dict[str, Any], expected: dict[str, float]
) -> None:
    async def fetch(path: str, body: bytes, base: str) -> bytes:
        return json.dumps({"data": [{"id": "m", "pricing": pricing}]}).encode()

    assert (await facts(PRESETS["openrouter"], "", fetch))["m"].price == expected


async def test_a_variant_of_a_model_does_not_get_its_price(catalog: Catalog) -> None:
    router = PRESETS["openrouter"]
    assert catalog.look(router, ROUTED).price["input"] == 3.0
    assert catalog.look(router, f"{ROUTED}:free").price == {}


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, "n/a"), (0.0, "$0.00"), (0.00001, "<$0.0001"), (0.0018, "$0.0018"), (0.1, "$0.10"), (1234.5, "$1,234.50")],
)
def test_costs_are_written_for_people(cost: float | None, text: str) -> None:
    assert in_dollars(cost) == text


def test_a_cost_that_is_known_in_part_says_so() -> None:
    assert cost_of(Usage(1, 0, 0, 1, 2, 0.5, 1)) == "≥ $0.50"
    assert cost_of(Usage(1, 0, 0, 1, 1, 0.0, 1)) == "n/a"


COUNTS = st.integers(0, 10**7)


@given(st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS), st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS))
def test_the_cost_of_two_is_the_sum_of_their_costs(one: Usage, other: Usage) -> None:
    price = Price(3, 15, 3.75, 0.3)
    assert price.cost(one + other) == pytest.approx(price.cost(one) + price.cost(other))
