"""What holds for any transcript, any rules and any moments at which a request is made."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from smith_server.core.estimate import characters, tokens
from smith_server.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from smith_server.core.window import Shown, Window, WindowRules
from tests.fakes.transcripts import Transcript, ids

Step = Callable[[Transcript], Any]

sizes = st.sampled_from([0, 1, 30, 100, 101, 400, 3000])
whole_steps = st.one_of(
    st.builds(lambda size: lambda talk: talk.prompt(size), sizes),
    st.builds(lambda size: lambda talk: talk.words(size), sizes),
    st.builds(lambda each: lambda talk: talk.round(*each), st.lists(sizes, min_size=1, max_size=3)),
    st.builds(lambda each: lambda talk: talk.round(*each, recall_key="k"), st.lists(sizes, min_size=1, max_size=3)),
)
broken_steps = st.one_of(
    st.builds(lambda each: lambda talk: talk.round(*each, answered=len(each) - 1), st.lists(sizes, min_size=1)),
    st.just(lambda talk: talk.orphan()),
)
steps = st.lists(st.one_of(whole_steps, whole_steps, broken_steps), max_size=25)
rules = st.builds(
    WindowRules,
    keep_rounds=st.integers(0, 4),
    elide_over_chars=st.sampled_from([0, 10, 100]),
    elide_step=st.integers(1, 4),
    elide_min_gain_pct=st.sampled_from([0, 5, 50]),
    trim_threshold_pct=st.sampled_from([1, 50, 80, 100]),
    drop_to_pct=st.sampled_from([None, 10, 50]),
    context_window=st.sampled_from([1, 100, 300, 1000, 100_000]),
    can_recall=st.booleans(),
)
documented = st.builds(
    WindowRules,
    keep_rounds=st.integers(0, 4),
    elide_over_chars=st.sampled_from([0, 10, 100]),
    elide_step=st.just(1),
    elide_min_gain_pct=st.just(0),
    context_window=st.sampled_from([1, 100, 300, 1000, 100_000]),
)


def built(made: list[Step]) -> Transcript:
    talk = Transcript()
    for step in made:
        step(talk)
    return talk


def requests(
    made: list[Step], window: Window, extra: int = 0, factor: float = 1.0
) -> list[tuple[list[Message], Shown]]:
    """A request after each step: the transcript at that time and its view."""
    talk = Transcript()
    found = []
    for step in made:
        step(talk)
        found.append(([*talk], window.view(talk, extra, factor)))
    return found


def newest_prompt(talk: list[Message]) -> list[Message]:
    return [message for message in talk if isinstance(message, UserMessage)][-1:]


@given(steps, rules, st.sampled_from([0, 50, 5000]), st.sampled_from([0.5, 1.0, 1.7]))
def test_a_view_is_never_over_the_limit_unless_it_is_the_smallest_there_is(
    made: list[Step], given_rules: WindowRules, extra: int, factor: float
) -> None:
    for talk, shown in requests(made, Window(given_rules), extra, factor):
        size = sum(map(characters, shown.messages)) + extra
        assert (shown.characters, shown.estimate) == (size, tokens(size, factor))
        assert shown.estimate <= given_rules.trigger or list(shown.messages) == newest_prompt(talk)


@given(steps, rules)
def test_every_call_has_all_its_results_right_after_it_and_no_result_stands_alone(
    made: list[Step], given_rules: WindowRules
) -> None:
    for _, shown in requests(made, Window(given_rules)):
        awaited: list[str] = []
        for message in shown.messages:
            if isinstance(message, ToolMessage):
                awaited.remove(message.call_id)
                continue
            assert awaited == []
            awaited = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []
        assert awaited == []


@given(steps, rules)
def test_the_order_is_kept_and_nothing_but_long_results_is_rewritten(
    made: list[Step], given_rules: WindowRules
) -> None:
    for talk, shown in requests(made, Window(given_rules)):
        assert ids(shown.messages) == sorted(set(ids(shown.messages)))
        for message in shown.messages:
            stored = talk[int(message.id)]
            if message is not stored:
                assert isinstance(stored, ToolMessage)
                assert isinstance(message, ToolMessage)
                assert len(stored.content) > given_rules.elide_over_chars
                assert msgspec.structs.replace(message, content=stored.content) == stored


@given(steps, rules)
def test_the_newest_prompt_is_always_sent(made: list[Step], given_rules: WindowRules) -> None:
    for talk, shown in requests(made, Window(given_rules)):
        assert all(any(each is prompt for each in shown.messages) for prompt in newest_prompt(talk))


@given(steps, rules)
def test_results_of_the_newest_rounds_are_verbatim(made: list[Step], given_rules: WindowRules) -> None:
    for talk, shown in requests(made, Window(given_rules)):
        if not given_rules.keep_rounds:
            continue
        replies = [each for each in shown.messages if isinstance(each, AssistantMessage) and each.calls]
        since = int(replies[-given_rules.keep_rounds :][0].id) if replies else len(talk)
        assert all(each is talk[int(each.id)] for each in shown.messages if int(each.id) >= since)


@given(steps, rules)
def test_no_input_is_touched(made: list[Step], given_rules: WindowRules) -> None:
    talk = built(made)
    before, encoded = [*talk], msgspec.json.encode(talk)

    Window(given_rules).view(talk)

    assert [id(message) for message in talk] == [id(message) for message in before]
    assert msgspec.json.encode(talk) == encoded


@given(steps, rules)
def test_a_view_that_did_not_change_begins_with_the_one_before(made: list[Step], given_rules: WindowRules) -> None:
    before: tuple[Message, ...] = ()
    for _, shown in requests(made, Window(given_rules)):
        grew = len(shown.messages) >= len(before) and all(
            old is new for old, new in zip(before, shown.messages, strict=False)
        )
        assert grew or shown.changed
        before = shown.messages


@given(st.lists(whole_steps, max_size=30), rules)
def test_a_view_changes_at_most_once_a_step_while_there_is_room(made: list[Step], given_rules: WindowRules) -> None:
    roomy = msgspec.structs.replace(given_rules, context_window=10_000_000, trim_threshold_pct=80)
    rounds, last_change = 0, -math.inf
    for talk, shown in requests(made, Window(roomy)):
        rounds = sum(isinstance(each, AssistantMessage) and bool(each.calls) for each in talk)
        if shown.changed:
            assert rounds - last_change >= roomy.elide_step
            last_change = rounds


@given(steps, rules)
def test_a_window_that_saw_the_transcript_grow_shows_what_a_new_one_shows(
    made: list[Step], given_rules: WindowRules
) -> None:
    roomy = msgspec.structs.replace(given_rules, context_window=10_000_000, trim_threshold_pct=80)
    for talk, shown in requests(made, Window(roomy)):
        again = Window(roomy).view(talk)
        assert (again.messages, again.estimate, again.elided) == (shown.messages, shown.estimate, shown.elided)


@given(steps, documented)
@example([lambda talk: talk.prompt(400), lambda talk: talk.round(3000, 0)], WindowRules(elide_step=1))
def test_one_view_is_what_the_plain_rule_says(made: list[Step], given_rules: WindowRules) -> None:
    talk = built(made)

    assert list(Window(given_rules).view(talk).messages) == by_the_plain_rule(talk, given_rules)


@given(steps, rules)
def test_switched_off_any_transcript_is_sent_unchanged(made: list[Step], given_rules: WindowRules) -> None:
    off = msgspec.structs.replace(given_rules, enabled=False)
    for talk, shown in requests(made, Window(off)):
        assert [id(message) for message in shown.messages] == [id(message) for message in talk]
        assert shown.characters == sum(map(characters, talk))
        assert not shown.changed


def by_the_plain_rule(talk: Transcript, given_rules: WindowRules) -> list[Message]:
    """Group, elide, then drop from the old end, each by walking everything."""
    units: list[list[Message]] = []
    at = 0
    while at < len(talk):
        message, at = talk[at], at + 1
        following = at
        while following < len(talk) and isinstance(talk[following], ToolMessage):
            following += 1
        calls = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []
        results = [each for each in talk[at:following] if isinstance(each, ToolMessage) and each.call_id in calls]
        if not isinstance(message, ToolMessage) and len(results) == len(calls):
            units.append([message, *results])
    rounds = [unit for unit in units if len(unit) > 1]
    for unit in rounds[: max(0, len(rounds) - given_rules.keep_rounds)]:
        unit[1:] = [elided(each, given_rules) for each in unit[1:] if isinstance(each, ToolMessage)]
    prompt = next((unit for unit in reversed(units) if isinstance(unit[0], UserMessage)), None)
    limit = given_rules.context_window * given_rules.trim_threshold_pct / 100
    for unit in [unit for unit in units if unit is not prompt]:
        if math.ceil(sum(characters(each) for kept in units for each in kept) / 4) > limit:
            units = [kept for kept in units if kept is not unit]
    return [message for unit in units for message in unit]


def elided(result: ToolMessage, given_rules: WindowRules) -> ToolMessage:
    if len(result.content) <= given_rules.elide_over_chars:
        return result
    hint = f'; retrieve with recall(key="{result.recall_key}")' if result.recall_key else ""
    text = f"[elided {len(result.content)} chars of tool output{hint}]"
    return msgspec.structs.replace(result, content=text)


def test_the_plain_rule_and_the_window_differ_when_only_one_elides() -> None:
    talk = Transcript().prompt().round(3000)
    rule = WindowRules(keep_rounds=0, elide_step=1, elide_min_gain_pct=0)

    assert by_the_plain_rule(talk, rule) != by_the_plain_rule(talk, msgspec.structs.replace(rule, keep_rounds=1))
