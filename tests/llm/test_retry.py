from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import agent_error
from smith_server.core.messages import Call, Part, Text, Thinking, UserMessage
from smith_server.core.ports import Done, Failed, Request, no_chance
from smith_server.llm import errors
from smith_server.llm.assemble import Output
from smith_server.llm.presets import Preset
from smith_server.llm.retry import (
    MOST_MORE,
    Again,
    Course,
    Facts,
    Retries,
    RetryRules,
    facts_of,
    is_empty,
    next_attempt,
    next_delay,
)
from smith_server.llm.script import Script
from smith_server.llm.scripted import ScriptedProvider

RULES = RetryRules()
EMPTY = Done((), "stop")
ANSWER = Done((Text("hello"),), "stop")
CALLED = Done((Call("c", "read"),), "tool_use")


def failed(code: str = "provider_error", output: Output = "none", retry_after: float | None = None) -> Failed:
    return Failed(errors.judged(agent_error("transport", code, "no"), output), retry_after=retry_after)


def asked(
    answers: Iterator[Done | Failed], rules: RetryRules = RULES, chance: Callable[[], float] = no_chance
) -> list[Again]:
    """Every further attempt of one request that is answered so."""
    retries = Retries(rules, chance)
    retries.begin()
    made: list[Again] = []
    while (again := retries.after(next(answers))) is not None:
        made.append(again)
    return made


def test_empty_answers_after_two_failures_each_make_nine_attempts() -> None:
    made = asked(cycle([failed(), failed(), EMPTY]))

    assert [again.attempt for again in made] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert [again.layer for again in made] == ["transport", "transport", "empty"] * 2 + ["transport", "transport"]
    assert [again.delay for again in made] == [2, 8, 0.5, 2, 8, 1, 2, 8]


def test_a_failure_is_repeated_twice_and_an_empty_answer_too() -> None:
    assert [again.delay_ms for again in asked(cycle([failed()]))] == [2000, 8000]
    assert [again.delay_ms for again in asked(cycle([EMPTY]))] == [500, 1000]


@pytest.mark.parametrize("answer", [ANSWER, CALLED], ids=["text", "call"])
def test_an_answer_that_says_something_stands(answer: Done) -> None:
    assert asked(cycle([answer])) == []


def test_the_next_request_of_a_prompt_begins_anew() -> None:
    retries = Retries(RULES)
    for _ in range(3):
        retries.begin()
        assert [again and again.attempt for again in map(retries.after, [failed(), failed(), failed()])] == [2, 3, None]


@pytest.mark.parametrize(
    ("waits", "most", "delays"),
    [
        ((2000, 8000), 4, [2, 8, 8, 8]),
        ((100,), 3, [0.1, 0.1, 0.1]),
        ((1, 2, 3), 2, [0.001, 0.002]),
        ((0,), 1, [0]),
        ((), 2, [0, 0]),
        ((2000,), 0, []),
        ((2000,), 1.9, [2]),
    ],
    ids=[
        "the last wait repeats",
        "one wait",
        "more waits than repeats",
        "no wait",
        "no list",
        "switched off",
        "fraction",
    ],
)
def test_repeat_n_waits_as_long_as_element_n(waits: tuple[float, ...], most: float, delays: list[float]) -> None:
    rules = RetryRules(transport_most=most, transport_waits=waits, empty_most=most, empty_waits=waits)

    assert [again.delay for again in asked(cycle([failed()]), rules)] == delays
    assert [again.delay for again in asked(cycle([EMPTY]), rules)] == delays


@pytest.mark.parametrize(
    ("asked_for", "delay"),
    [(None, 2), (0, 0), (2, 2), (0.5, 0.5), (60, 60), (61, 60), (10.0**9, 60)],
    ids=["nothing", "at once", "two", "less than ours", "at the cap", "over it", "far over it"],
)
def test_what_the_server_asks_for_is_waited_up_to_a_minute(asked_for: float | None, delay: float) -> None:
    assert next_delay(Facts(True, retry_after=asked_for), Course(), RULES) == delay


def test_a_wait_that_the_server_asks_for_makes_no_further_attempt() -> None:
    assert len(asked(cycle([failed("rate_limited", retry_after=1)]))) == 2
    assert asked(cycle([failed("auth", retry_after=1)])) == []


@pytest.mark.parametrize(
    ("asked_for", "delays"),
    [(None, [2.25, 9]), (0, [0, 0]), (2, [2.25, 2.25]), (50, [56.25, 56.25]), (55, [60, 60]), (10.0**9, [60, 60])],
    ids=["nothing", "at once", "two", "below the cap", "up to the cap", "over it"],
)
def test_a_wait_is_made_longer_by_a_part_of_itself_that_chance_decides(
    asked_for: float | None, delays: list[float]
) -> None:
    made = asked(cycle([failed(retry_after=asked_for)]), chance=lambda: 0.5)

    assert [again.delay for again in made] == delays


def test_waits_of_ones_own_are_made_longer_however_long_they_are() -> None:
    made = asked(cycle([failed()]), RetryRules(transport_waits=(80_000,)), lambda: 0.5)

    assert [again.delay for again in made] == [90, 90]


def test_an_empty_answer_is_asked_for_again_after_what_the_rules_say() -> None:
    assert [again.delay for again in asked(cycle([EMPTY]), chance=lambda: 0.5)] == [0.5, 1]


def test_two_who_are_refused_at_one_moment_do_not_come_back_at_one_moment() -> None:
    first, second = ([again.delay for again in asked(cycle([failed()]), chance=Random(seed).random)] for seed in (1, 2))

    assert all(abs(one - other) > 0.05 for one, other in zip(first, second, strict=True))


def test_the_same_chance_makes_the_same_waits() -> None:
    made = [asked(cycle([failed(), failed(), EMPTY]), chance=Random(7).random) for _ in range(2)]

    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("code", "repeated"),
    [
        ("unreachable", True),
        ("overloaded", True),
        ("rate_limited", True),
        ("provider_error", True),
        ("stream_truncated", True),
        ("auth", False),
        ("bad_request", False),
    ],
)
def test_what_passes_by_itself_is_repeated_and_what_is_final_is_not(code: str, repeated: bool) -> None:
    assert bool(asked(cycle([failed(code)]))) is repeated
    assert bool(asked(cycle([failed(code, "thinking")]))) is repeated


@pytest.mark.parametrize(
    ("status", "repeated"),
    [
        *((code, True) for code in (408, 429, 500, 502, 503, 529)),
        *((code, False) for code in (400, 401, 403, 404, 422)),
    ],
)
def test_a_status_is_repeated_when_the_server_may_recover(status: int, repeated: bool) -> None:
    answer = errors.of_response(status, {}, b"", Preset("custom"))

    assert bool(asked(cycle([answer]))) is repeated


def test_an_error_of_the_protocol_or_of_our_own_is_not_repeated() -> None:
    for kind in ("protocol", "schema", "cancelled", "internal", "policy"):
        assert asked(cycle([Failed(agent_error(kind, "x", "no"))])) == []


def test_an_attempt_that_its_provider_calls_final_is_not_repeated() -> None:
    final = structs.replace(agent_error("transport", "provider_error", "no"), retryable=False)

    assert asked(cycle([Failed(final)])) == []


@pytest.mark.parametrize("output", ["text", "call"])
def test_after_visible_output_nothing_is_repeated_unless_it_may_be_voided(output: Output) -> None:
    assert asked(cycle([failed(output=output)])) == []

    made = asked(cycle([failed(output=output)]), RetryRules(after_output=True))
    assert [(again.attempt, again.delay, again.discard_output) for again in made] == [(2, 2, True), (3, 8, True)]


def test_after_thinking_alone_an_attempt_is_repeated_once_and_what_was_shown_is_void() -> None:
    made = asked(cycle([failed(output="thinking")]))

    assert [(again.attempt, again.delay, again.discard_output) for again in made] == [(2, 2, True)]


def test_thinking_is_voided_once_per_request_however_its_answers_alternate() -> None:
    made = asked(cycle([failed(output="thinking"), EMPTY]))

    assert [(again.layer, again.discard_output) for again in made] == [("transport", True), ("empty", False)]


def test_the_next_request_may_void_its_thinking_again() -> None:
    retries = Retries(RULES)
    for _ in range(3):
        retries.begin()
        assert retries.after(failed(output="thinking")) is not None
        assert retries.after(failed(output="thinking")) is None


def test_a_failure_before_anything_was_shown_voids_nothing() -> None:
    assert [again.discard_output for again in asked(cycle([failed()]))] == [False, False]


def test_a_stall_is_repeated_once_per_prompt() -> None:
    retries = Retries(RULES)
    retries.begin()
    first = retries.after(failed("stall_timeout"))
    assert first is not None
    assert (first.delay, first.discard_output) == (2, False)
    assert retries.after(failed("stall_timeout")) is None

    retries.begin()
    assert retries.after(failed("stall_timeout")) is None
    assert retries.after(failed("overloaded")) is not None


def test_another_prompt_may_repeat_a_stall_again() -> None:
    assert [len(asked(cycle([failed("stall_timeout")]))) for _ in range(2)] == [1, 1]


def test_a_stall_after_visible_output_is_final() -> None:
    assert asked(cycle([failed("stall_timeout", "text")])) == []


def test_a_stall_after_thinking_counts_as_the_stall_of_the_prompt() -> None:
    retries = Retries(RULES)
    retries.begin()
    again = retries.after(failed("stall_timeout", "thinking"))
    retries.begin()

    assert again is not None
    assert again.discard_output
    assert retries.after(failed("stall_timeout")) is None


@pytest.mark.parametrize(
    ("parts", "stop", "empty"),
    [
        ((), "stop", True),
        ((), "tool_use", True),
        ((Text(" \n\t"),), "stop", True),
        ((Thinking("hm"),), "stop", True),
        ((Thinking("hm"), Text("")), "stop", True),
        ((Text("x"),), "stop", False),
        ((Thinking("hm"), Call("c", "read")), "tool_use", False),
        ((), "max_tokens", False),
        ((Thinking("hm"),), "max_tokens", False),
        ((), "content_filter", False),
    ],
    ids=[
        "nothing",
        "calls announced",
        "blanks",
        "reasoning",
        "reasoning and nothing",
        "text",
        "call",
        "cut",
        "cut in reasoning",
        "withheld",
    ],
)
def test_an_answer_is_empty_when_it_ended_by_itself_with_neither_text_nor_call(
    parts: tuple[Part, ...], stop: Any, empty: bool
) -> None:
    assert is_empty(Done(parts, stop)) is empty


def test_an_empty_answer_is_told_as_one_and_its_reasoning_is_void() -> None:
    silent, thought = asked(iter([EMPTY, Done((Thinking("hm"),), "stop"), ANSWER]))

    assert (silent.error.kind, silent.error.code, silent.discard_output) == ("protocol", "empty_response", False)
    assert thought.discard_output


def test_the_error_that_is_repeated_is_the_one_that_came() -> None:
    answer = failed("overloaded")
    [again] = asked(iter([answer, ANSWER]))

    assert again.error is answer.error


def test_an_error_without_a_word_about_output_came_before_any() -> None:
    assert facts_of(Failed(agent_error("transport", "unreachable", "no"))) == Facts(passing=True)
    assert facts_of(failed("stall_timeout", "text", 3)) == Facts(True, stalled=True, output="text", retry_after=3)


failures = st.builds(
    failed,
    st.sampled_from(["overloaded", "stall_timeout", "stream_truncated", "auth", "unreachable"]),
    st.sampled_from(["none", "thinking", "text", "call"]),
    st.sampled_from([None, 0, 3, 1000]),
)
answers = st.lists(failures | st.sampled_from([EMPTY, Done((Thinking("hm"),), "stop")]), min_size=1, max_size=12)
rule_sets = st.builds(
    RetryRules,
    transport_most=st.integers(0, 3),
    empty_most=st.integers(0, 3),
    after_output=st.booleans(),
    transport_waits=st.lists(st.integers(0, 9000), max_size=3).map(tuple),
)


@given(answers, rule_sets)
def test_whatever_comes_the_attempts_stay_within_the_product_of_both_layers(
    given_answers: list[Done | Failed], rules: RetryRules
) -> None:
    made = asked(cycle(given_answers), rules)

    assert 1 + len(made) <= (rules.transport_most + 1) * (rules.empty_most + 1)
    assert [again.attempt for again in made] == list(range(2, len(made) + 2))
    assert all(0 <= again.delay <= 60 for again in made)
    assert sum(again.layer == "empty" for again in made) <= rules.empty_most


@given(answers, rule_sets, st.integers())
def test_chance_makes_waits_longer_by_a_quarter_at_most_and_never_shorter(
    given_answers: list[Done | Failed], rules: RetryRules, seed: int
) -> None:
    least = asked(cycle(given_answers), rules)
    made = asked(cycle(given_answers), rules, Random(seed).random)

    assert [structs.replace(again, delay=0) for again in made] == [structs.replace(again, delay=0) for again in least]
    for again, documented in zip(made, least, strict=True):
        assert documented.delay <= again.delay <= documented.delay * (1 + MOST_MORE)


@given(answers, rule_sets)
def test_what_was_shown_is_void_exactly_when_something_was(
    given_answers: list[Done | Failed], rules: RetryRules
) -> None:
    course = Course()
    for answer in given_answers:
        found = next_attempt(answer, course, rules)
        if found is None:
            return
        again, course = found
        shown = bool(answer.parts) if isinstance(answer, Done) else answer.error.data["output"] != "none"
        assert again.discard_output is shown


async def test_a_provider_that_fails_twice_and_then_says_nothing_is_asked_nine_times() -> None:
    down = [{"error": {"code": "overloaded", "retry_after": 0}}]
    provider = ScriptedProvider(msgspec.convert({"replies": [down, down, []], "loop": True}, Script))
    retries, waited = Retries(RULES), []
    retries.begin()
    while (again := retries.after(await answer_of(provider))) is not None:
        waited.append(again.delay)

    assert len(provider.requests) == 9
    assert waited == [0, 0, 0.5, 0, 0, 1, 0, 0]


async def answer_of(provider: ScriptedProvider) -> Done | Failed:
    request = Request("m", "", (UserMessage("1", "Hi"),))
    *_, last = [delta async for delta in provider.stream(request, CancelToken())]
    assert isinstance(last, Done | Failed)
    return last
