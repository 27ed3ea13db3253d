"""What holds for compaction with any transcript, any rules, any summary and any moments of requests."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.compaction import SUMMARY, Compaction
from smith_server.core.estimate import characters
from smith_server.core.messages import AssistantMessage, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.core.squeeze import Squeeze
from smith_server.core.window import Shown, Window, WindowRules
from tests.core.test_window_properties import Step, broken_steps, newest_prompt, whole_steps
from tests.fakes.transcripts import Transcript


def thought(size: int) -> Step:
    """A reply with reasoning that goes back to its provider."""

    def step(talk: Transcript) -> None:
        talk.append(AssistantMessage(str(len(talk)), (Thinking("", "p", {"s": "x" * size}), Text("w"))))

    return step


thoughts = st.builds(thought, st.sampled_from([0, 50, 900]))
steps = st.lists(st.one_of(whole_steps, whole_steps, thoughts, broken_steps), max_size=25)
rules = st.builds(
    WindowRules,
    keep_rounds=st.integers(0, 4),
    elide_over_chars=st.sampled_from([0, 10, 100]),
    elide_step=st.integers(1, 4),
    elide_min_gain_pct=st.sampled_from([0, 5]),
    trim_threshold_pct=st.sampled_from([50, 80, 100]),
    drop_to_pct=st.sampled_from([10, 50]),
    context_window=st.sampled_from([1, 100, 300, 1000]),
    can_recall=st.booleans(),
    compacts=st.just(True),
    summarizes=st.booleans(),
)
answers = st.sampled_from(["", "So it was.", "x" * 500])
extras = st.sampled_from([0, 50, 900])
factors = st.sampled_from([0.5, 1.0, 1.7])


class Sent(msgspec.Struct):
    """One request: the transcript at that moment, its view, and what was decided for it."""

    talk: list[Message]
    shown: Shown
    record: Compaction | None


def sent(made: list[Step], given_rules: WindowRules, answer: str, extra: int, factor: float) -> list[Sent]:
    """A request after each step, with room made as it is made at work."""
    window, talk, found = Window(given_rules), Transcript(), []
    for step in made:
        step(talk)
        record = None
        if window.weigh(talk, extra, factor) > given_rules.trigger:
            squeeze = Squeeze(window, talk[-1].id, extra, factor)
            squeeze.shorten()
            if squeeze.covered():
                squeeze.summarize(answer)
            squeeze.drop()
            record = squeeze.record
        found.append(Sent([*talk], window.view(talk, extra, factor), record))
    return found


def unpaired(messages: tuple[Message, ...]) -> list[str]:
    """Ids of calls without a result right behind them, and of results without such a call."""
    awaited: list[str] = []
    lost: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            (awaited if message.call_id in awaited else lost).append(message.call_id)
            awaited = [name for name in awaited if name != message.call_id]
        else:
            lost += awaited
            awaited = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []
    return lost + awaited


@given(steps, rules, answers, extras, factors)
def test_a_request_is_over_the_trigger_only_as_the_smallest_there_is(
    made: list[Step], given_rules: WindowRules, answer: str, extra: int, factor: float
) -> None:
    for each in sent(made, given_rules, answer, extra, factor):
        shown = each.shown
        assert shown.characters == sum(map(characters, shown.messages)) + extra
        if shown.estimate <= given_rules.trigger:
            continue
        rest = [
            message for message in shown.messages if message.id != SUMMARY and message not in newest_prompt(each.talk)
        ]
        if shown.estimate > given_rules.ceiling:
            assert rest == []
        assert [message for message in rest if isinstance(message, UserMessage)] == []
        assert sum(isinstance(message, AssistantMessage) for message in rest) <= 1


@given(steps, rules, answers, extras, factors)
def test_no_call_is_without_its_result_and_no_result_without_its_call(
    made: list[Step], given_rules: WindowRules, answer: str, extra: int, factor: float
) -> None:
    for each in sent(made, given_rules, answer, extra, factor):
        assert unpaired(each.shown.messages) == []


@given(steps, rules, answers, extras, factors)
def test_the_newest_prompt_is_always_there_and_at_most_one_summary(
    made: list[Step], given_rules: WindowRules, answer: str, extra: int, factor: float
) -> None:
    for each in sent(made, given_rules, answer, extra, factor):
        assert all(prompt in each.shown.messages for prompt in newest_prompt(each.talk))
        names = [message.id for message in each.shown.messages]
        assert names.count(SUMMARY) <= 1
        own = [int(name) for name in names if name != SUMMARY]
        assert own == sorted(set(own))


@given(steps, rules, answers, extras, factors)
def test_a_request_only_appends_to_the_one_before_unless_it_says_that_it_changed(
    made: list[Step], given_rules: WindowRules, answer: str, extra: int, factor: float
) -> None:
    before: tuple[Message, ...] = ()
    for each in sent(made, given_rules, answer, extra, factor):
        messages = each.shown.messages
        grew = len(messages) >= len(before) and all(old is new for old, new in zip(before, messages, strict=False))
        assert grew or each.shown.changed
        before = messages


@given(steps, rules, answers, extras, factors)
def test_whoever_resumes_with_the_stored_records_sends_the_same(
    made: list[Step], given_rules: WindowRules, answer: str, extra: int, factor: float
) -> None:
    records: list[Compaction] = []
    for each in sent(made, given_rules, answer, extra, factor):
        records += [each.record] if each.record is not None and each.record.steps else []
        stored = msgspec.msgpack.decode(msgspec.msgpack.encode(records), type=list[Compaction])
        resumed = Window(given_rules, stored).view(each.talk, extra, factor)
        assert resumed.messages == each.shown.messages
        assert (resumed.estimate, resumed.dropped, resumed.covered) == (
            each.shown.estimate,
            each.shown.dropped,
            each.shown.covered,
        )


@given(steps, rules, answers)
def test_a_record_names_what_it_leaves_out(made: list[Step], given_rules: WindowRules, answer: str) -> None:
    gone: set[str] = set()
    for each in sent(made, given_rules, answer, 0, 1.0):
        if each.record is not None:
            gone |= {*each.record.covered, *each.record.dropped}
        names = {message.id for message in each.shown.messages}
        assert names & gone <= {SUMMARY}
        assert (each.record is None) or each.record.after == each.shown.estimate
