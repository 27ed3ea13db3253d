import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from smith_server.core.estimate import characters, correction, tokens
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.core.window import Shown, Window, WindowRules
from tests.fakes.transcripts import Transcript, contents, ids

EACH_ROUND = WindowRules(elide_step=1, elide_min_gain_pct=0)
BIG, SMALL = 2000, 10


def view(talk: Sequence[Message], rules: WindowRules = EACH_ROUND, **changes: Any) -> Shown:
    return Window(msgspec.structs.replace(rules, **changes)).view(talk)


def test_a_short_transcript_is_sent_as_it_is() -> None:
    talk = Transcript().prompt().words()

    assert view(talk) == Shown(tuple(talk), 16, 4)


def test_results_of_the_newest_rounds_stay_and_older_ones_are_elided() -> None:
    talk = Transcript().prompt().rounds(9, BIG)

    shown = view(talk)

    assert contents(shown.messages) == ["[elided 2000 chars of tool output]"] * 2 + ["r" * BIG] * 7
    assert (shown.elided, shown.dropped) == (2, 0)


def test_a_round_is_a_reply_with_all_its_results_however_many() -> None:
    talk = Transcript().prompt().round(BIG, BIG, BIG).round(BIG, BIG)

    shown = view(talk, keep_rounds=1)

    assert contents(shown.messages) == ["[elided 2000 chars of tool output]"] * 3 + ["r" * BIG] * 2


def test_replies_without_calls_are_no_rounds() -> None:
    talk = Transcript().prompt().round(BIG)
    for _ in range(20):
        talk.words().prompt()

    assert contents(view(talk).messages) == ["r" * BIG]


@pytest.mark.parametrize(
    ("size", "elided"), [(1023, 0), (1024, 0), (1025, 1)], ids=["below", "at the limit", "one more"]
)
def test_only_a_result_that_is_longer_than_the_limit_is_elided(size: int, elided: int) -> None:
    assert view(Transcript().prompt().round(size), keep_rounds=0).elided == elided


def test_length_is_counted_in_code_points() -> None:
    long = AssistantMessage("1", (Call("c", "read", "{}"),))
    talk = [UserMessage("0", "go"), long, ToolMessage("2", "c", "read", "😀" * 1025)]

    assert contents(view(talk, keep_rounds=0).messages) == ["[elided 1025 chars of tool output]"]
    assert characters(talk[2]) == 1025


def test_with_no_round_kept_even_the_newest_is_elided() -> None:
    assert contents(view(Transcript().prompt().round(BIG), keep_rounds=0).messages) == [
        "[elided 2000 chars of tool output]"
    ]


def test_each_result_of_an_old_round_is_judged_by_its_own_length() -> None:
    talk = Transcript().prompt().round(BIG, SMALL)

    assert contents(view(talk, keep_rounds=0).messages) == ["[elided 2000 chars of tool output]", "r" * SMALL]


def test_the_placeholder_of_a_result_that_was_kept_names_its_key() -> None:
    talk = Transcript().prompt().round(BIG, recall_key="dispatch/j1")

    assert contents(view(talk, keep_rounds=0).messages) == [
        '[elided 2000 chars of tool output; retrieve with recall(key="dispatch/j1")]'
    ]


def test_a_role_without_recall_is_never_told_to_recall() -> None:
    talk = Transcript().prompt().round(BIG, recall_key="dispatch/j1")

    shown = view(talk, keep_rounds=0, can_recall=False)

    assert contents(shown.messages) == ["[elided 2000 chars of tool output]"]


def test_calls_ids_and_keys_stay_when_a_result_is_elided() -> None:
    talk = Transcript().prompt().round(BIG, recall_key="k")

    shown = view(talk, keep_rounds=0).messages

    assert shown[:2] == tuple(talk[:2])
    short = shown[2]
    assert isinstance(short, ToolMessage)
    assert msgspec.structs.replace(short, content="r" * BIG) == talk[2]


def test_the_transcript_is_not_touched() -> None:
    talk = Transcript().prompt().rounds(9, BIG).prompt()
    before = [*talk]
    encoded = msgspec.json.encode(before)

    view(talk, context_window=100)

    assert all(now is then for now, then in zip(talk, before, strict=True))
    assert msgspec.json.encode(talk) == encoded


def test_switched_off_everything_is_sent_unchanged() -> None:
    talk = Transcript().prompt().rounds(9, BIG).orphan().round(BIG, BIG, answered=1)

    shown = view(talk, enabled=False, context_window=100)

    assert shown == Shown(tuple(talk), 20082, 5021)
    assert all(sent is stored for sent, stored in zip(shown.messages, talk, strict=True))


def test_a_round_that_lacks_a_result_is_not_sent() -> None:
    talk = Transcript().prompt().round(SMALL, SMALL, answered=1).prompt()

    assert ids(view(talk).messages) == [0, 3]


def test_a_result_that_answers_nothing_is_not_sent() -> None:
    assert ids(view(Transcript().prompt().orphan().words()).messages) == [0, 2]


def test_a_second_result_of_one_call_is_not_sent() -> None:
    talk = Transcript().prompt().round(SMALL)
    talk.append(ToolMessage("3", "c1.0", "read", "again"))

    assert ids(view(talk).messages) == [0, 1, 2]


def test_a_result_of_another_round_does_not_break_the_one_it_stands_in() -> None:
    talk = Transcript().prompt().round(SMALL, SMALL)
    talk.insert(3, ToolMessage("9", "nobody", "read", "x"))

    assert ids(view(talk).messages) == [0, 1, 2, 3]


def test_a_round_is_sent_once_its_last_result_is_there() -> None:
    window, talk = Window(EACH_ROUND), Transcript().prompt().round(SMALL, SMALL, answered=1)
    first = window.view(talk)
    talk.append(ToolMessage("3", "c1.1", "read", "r"))
    second = window.view(talk)

    assert ids(first.messages) == [0]
    assert ids(second.messages) == [0, 1, 2, 3]
    assert not second.changed


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (UserMessage("0", "four"), 4),
        (UserMessage("0", "four", "tail"), 10),
        (ToolMessage("0", "c", "read", "twelve chars"), 12),
        (AssistantMessage("0", (Text("four"), Call("id", "read", '{"a": 1}'))), 16),
        (AssistantMessage("0", (Thinking("not sent back"),)), 0),
        (AssistantMessage("0", (Thinking("", "p", {"sig": "abc"}),)), len("{'sig': 'abc'}")),
        (AssistantMessage("0", (Call("id", "read", "{}", {"k": "v"}),)), 6 + len("{'k': 'v'}")),
    ],
    ids=["prompt", "prompt with more", "result", "reply", "own reasoning", "signed reasoning", "extra of a call"],
)
def test_content_names_and_arguments_count(message: Message, size: int) -> None:
    assert characters(message) == size


@pytest.mark.parametrize(
    ("size", "factor", "estimate"),
    [(0, 1.0, 0), (1, 1.0, 1), (4, 1.0, 1), (3201, 1.0, 801), (400, 1.5, 150), (400, 0.5, 50)],
    ids=["nothing", "one", "four", "rounded up once", "more than thought", "less than thought"],
)
def test_four_characters_are_a_token(size: int, factor: float, estimate: int) -> None:
    assert tokens(size, factor) == estimate


def test_the_system_prompt_and_the_tools_count_too() -> None:
    talk = Transcript().words(400).prompt(400)
    window = Window(msgspec.structs.replace(EACH_ROUND, context_window=500))

    assert window.view(talk) == Shown(tuple(talk), 800, 200)
    assert window.view(talk, extra=1200) == Shown((talk[1],), 1600, 400, dropped=1, changed=True)


@pytest.mark.parametrize(
    ("size", "reported", "factor"),
    [(400, 100, 1.0), (400, 150, 1.5), (400, 50, 0.5), (400, 9000, 4.0), (400, 1, 0.25), (0, 10, 1.0), (400, 0, 1.0)],
    ids=["right", "too low", "too high", "far off above", "far off below", "nothing sent", "no report"],
)
def test_what_a_provider_reports_corrects_the_estimate(size: int, reported: int, factor: float) -> None:
    assert correction(size, reported) == factor


def test_the_correction_decides_what_fits() -> None:
    talk = Transcript().prompt(400).words(400).prompt(400)
    rules = msgspec.structs.replace(EACH_ROUND, context_window=500)

    assert ids(Window(rules).view(talk).messages) == [0, 1, 2]
    assert ids(Window(rules).view(talk, factor=2.0).messages) == [1, 2]


def test_without_other_word_the_window_holds_128000_tokens_and_trims_above_102400() -> None:
    assert (WindowRules().ceiling, WindowRules().trigger) == (128_000, 102_400)


@pytest.mark.parametrize(
    ("rules", "ceiling"),
    [
        (WindowRules(context_window=1000), 1000),
        (WindowRules(context_window=1000, output_limit=300), 700),
        (WindowRules(context_window=1000, max_tokens=500), 500),
        (WindowRules(context_window=1000, output_limit=700, max_tokens=500), 300),
        (WindowRules(context_window=1000, output_limit=2000), 1),
    ],
    ids=["window", "less the answer", "own limit", "the smaller one", "never nothing"],
)
def test_the_ceiling_is_the_smaller_of_the_own_limit_and_what_the_answer_leaves(
    rules: WindowRules, ceiling: int
) -> None:
    assert rules.ceiling == ceiling


def test_a_request_at_the_threshold_is_sent_whole_and_one_token_more_is_not() -> None:
    at = Transcript().words(1600).prompt(1600)
    over = Transcript().words(1601).prompt(1600)

    assert ids(view(at, context_window=1000).messages) == [0, 1]
    assert ids(view(over, context_window=1000).messages) == [1]


def test_the_oldest_unit_goes_first_and_no_more_than_needed() -> None:
    talk = Transcript().prompt(40).words(40).round(400).round(400).prompt(40)

    shown = view(talk, context_window=150)

    assert ids(shown.messages) == [4, 5, 6]
    assert shown.dropped == 4


def test_a_round_goes_whole_even_if_one_small_result_would_fit() -> None:
    talk = Transcript().prompt(40).round(SMALL, 3000).prompt(40)

    assert ids(view(talk, context_window=500).messages) == [4]


def test_rounds_of_the_running_turn_may_go_but_never_its_prompt() -> None:
    talk = Transcript().prompt(400).round(1000).round(1000)

    shown = view(talk, context_window=500)

    assert ids(shown.messages) == [0, 3, 4]


def test_the_newest_prompt_is_sent_even_if_it_alone_is_too_large() -> None:
    talk = Transcript().words(100).prompt(4000)

    shown = view(talk, context_window=1000)

    assert ids(shown.messages) == [1]
    assert shown.estimate > WindowRules(context_window=1000).trigger


def test_an_older_prompt_is_dropped_like_anything_else() -> None:
    talk = Transcript().prompt(2000).prompt(2000)

    assert ids(view(talk, context_window=1000).messages) == [1]


def test_a_view_may_begin_with_a_reply() -> None:
    talk = Transcript().prompt(2000).words(400).prompt(400)

    assert ids(view(talk, context_window=500).messages) == [1, 2]


def test_what_eliding_frees_need_not_be_dropped() -> None:
    talk = Transcript().prompt().round(8000).rounds(7, SMALL)

    shown = view(talk, context_window=1000)

    assert (shown.elided, shown.dropped) == (1, 0)


def test_once_anything_has_to_go_a_drop_goes_down_to_its_target() -> None:
    talk = Transcript().prompt(SMALL)
    for _ in range(10):
        talk.words(400)

    shown = view(talk, context_window=1000, drop_to_pct=50)

    assert shown.estimate == 403
    assert shown.dropped == 6


def test_a_drop_target_above_the_threshold_means_the_threshold() -> None:
    assert WindowRules(context_window=1000, drop_to_pct=95).target == 800


# The view from request to request.


def grown(rules: WindowRules, rounds: int, size: int) -> list[Shown]:
    window, talk = Window(rules), Transcript().prompt()
    views = [window.view(talk)]
    for _ in range(rounds):
        views.append(window.view(talk.round(size)))
    return views


def test_round_by_round_each_old_round_is_elided_at_once() -> None:
    assert [shown.elided for shown in grown(EACH_ROUND, 12, BIG)] == [0] * 8 + [1, 2, 3, 4, 5]


def test_in_steps_the_view_changes_once_every_few_rounds() -> None:
    views = grown(WindowRules(elide_min_gain_pct=0), 16, BIG)

    assert [shown.elided for shown in views] == [0] * 11 + [4] * 4 + [8] * 2
    assert [at for at, shown in enumerate(views) if shown.changed] == [11, 15]


def test_a_step_waits_until_it_frees_enough() -> None:
    least = WindowRules(context_window=32_000)
    freed_by_four = 4 * (BIG - len("[elided 2000 chars of tool output]")) / 4
    assert freed_by_four / 32_000 > 0.05

    assert [shown.elided for shown in grown(least, 12, BIG)][-2:] == [4, 4]
    more = msgspec.structs.replace(least, context_window=64_000)
    assert [shown.elided for shown in grown(more, 20, BIG)] == [0] * 15 + [8] * 6


def test_a_request_that_is_too_large_does_not_wait_for_a_step() -> None:
    views = grown(WindowRules(context_window=5_000, elide_min_gain_pct=50), 9, BIG)

    assert [(shown.elided, shown.dropped) for shown in views][-3:] == [(0, 0), (1, 0), (2, 0)]


def test_between_changes_a_view_only_grows_and_keeps_its_very_messages() -> None:
    views = grown(WindowRules(elide_min_gain_pct=0), 16, BIG)

    for before, after in itertools.pairwise(views):
        same = all(old is new for old, new in zip(before.messages, after.messages, strict=False))
        assert same is not after.changed


def test_what_was_dropped_does_not_come_back_when_room_appears() -> None:
    window = Window(msgspec.structs.replace(EACH_ROUND, context_window=1000, keep_rounds=1))
    talk = Transcript().prompt(SMALL).words(1000)
    assert ids(window.view(talk).messages) == [0, 1]
    assert ids(window.view(talk.round(2800)).messages) == [0, 2, 3]

    after = window.view(talk.round(SMALL))

    assert (ids(after.messages), after.elided) == ([0, 2, 3, 4, 5], 1)


def test_a_request_without_anything_new_is_the_one_before() -> None:
    window, talk = Window(EACH_ROUND), Transcript().prompt().rounds(9, BIG)

    first, second = window.view(talk), window.view(talk)

    assert second == first
    assert all(old is new for old, new in zip(first.messages, second.messages, strict=True))


def test_another_transcript_is_seen_as_one() -> None:
    window, talk = Window(EACH_ROUND), Transcript().prompt().words().prompt()
    window.view(talk)

    shorter = window.view(talk[:1])
    rebuilt = window.view(Transcript().prompt().words())

    assert (ids(shorter.messages), shorter.changed) == ([0], True)
    assert (ids(rebuilt.messages), rebuilt.changed) == ([0, 1], True)


def test_a_message_replaced_in_the_middle_is_seen_when_the_window_is_told() -> None:
    window, talk = Window(EACH_ROUND), Transcript().prompt().words()
    window.view(talk)
    talk[0] = UserMessage("0", "edited")
    window.forget()

    shown = window.view(talk)

    assert shown == Shown(tuple(talk), 14, 4, changed=True)


def test_the_first_view_changes_nothing_even_when_it_elides_and_drops() -> None:
    talk = Transcript().prompt().rounds(20, BIG)

    assert not view(talk, context_window=2000).changed


class Counted(Transcript):
    """Counts the messages that are read."""

    read = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.read += len(found) if isinstance(at, slice) else 1
        return found


def test_a_further_request_reads_only_what_is_new() -> None:
    window, talk = Window(EACH_ROUND), Counted().prompt()
    talk.rounds(500, SMALL)
    window.view(talk)
    talk.read = 0

    window.view(talk.round(SMALL))

    assert talk.read <= 4
