"""Compaction step by step, over transcripts of known sizes. Ids are positions; four characters are a token."""

import json
from typing import Any

import msgspec
import pytest

from smith_server.core.compaction import REPEATED, Compaction
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.core.space import by_kind
from smith_server.core.squeeze import Squeeze
from smith_server.core.window import Window, WindowRules
from tests.fakes.transcripts import Transcript, contents

RULES = WindowRules(compacts=True, drop_to_pct=50, context_window=1000, keep_rounds=1, elide_over_chars=100)


def squeezed(talk: list[Message], summary: str = "", thorough: bool = False, **changes: Any) -> tuple[Squeeze, Window]:
    """A compaction of everything at once, with `summary` as the model's answer."""
    window = Window(msgspec.structs.replace(RULES, **changes))
    window.weigh(talk)
    squeeze = Squeeze(window, talk[-1].id, 0, 1.0, thorough=thorough)
    squeeze.shorten()
    if squeeze.covered():
        squeeze.summarize(summary)
    squeeze.drop()
    return squeeze, window


def shown(window: Window, talk: list[Message]) -> list[str]:
    return [message.id for message in window.view(talk).messages]


def thinking(talk: Transcript, size: int, *, call: bool = False) -> None:
    at = len(talk)
    parts: list[Any] = [Thinking("", "p", {"s": "x" * size}), Text("w")]
    talk.append(AssistantMessage(str(at), (*parts, *([Call(f"c{at}", "read", "{}")] if call else []))))
    if call:
        talk.append(ToolMessage(str(at + 1), f"c{at}", "read", "r"))


def test_reasoning_of_finished_turns_goes_first_and_that_of_this_turn_stays() -> None:
    talk = Transcript().prompt()
    thinking(talk, 1600)
    talk.prompt()
    thinking(talk, 1600, call=True)

    squeeze, window = squeezed(talk)

    assert squeeze.record == Compaction("4", thoughts=("1",), before=811, after=409)
    old, new = (message for message in window.view(talk).messages if isinstance(message, AssistantMessage))
    assert old == AssistantMessage("1", (Text("w"),))
    assert new is talk[3]


def looked(*reads: tuple[str, int], name: str = "read") -> Transcript:
    """Rounds with one call each: what was looked at, and how much came of it."""
    talk = Transcript().prompt()
    for path, size in reads:
        at = len(talk)
        talk.append(AssistantMessage(str(at), (Call(f"c{at}", name, json.dumps({"path": path})),)))
        talk.append(ToolMessage(str(at + 1), f"c{at}", name, "r" * size))
    return talk


@pytest.mark.parametrize(
    ("name", "repeated"),
    [("read", ("2", "6")), ("code_grep", ("2", "6")), ("bash", ())],
    ids=["read", "search", "a command may do something"],
)
def test_of_equal_reads_only_the_newest_keeps_its_output(name: str, repeated: tuple[str, ...]) -> None:
    talk = looked(("a", 900), ("b", 90), ("a", 900), ("a", 900), ("c", 500), name=name)

    squeeze, window = squeezed(talk, elide_over_chars=5000, context_window=1100, summarizes=False)

    assert squeeze.record.repeated == repeated
    assert contents(window.view(talk).messages).count(REPEATED) == len(repeated)


def test_a_read_that_failed_supersedes_nothing() -> None:
    talk = looked(("a", 3000), ("a", 50), ("b", 500))
    talk[4] = msgspec.structs.replace(talk[4], ok=False)

    assert squeezed(talk, elide_over_chars=5000)[0].record.repeated == ()


def test_the_largest_old_results_go_next_and_no_more_than_needed() -> None:
    talk = looked(("a", 400), ("b", 1500), ("c", 300), ("d", 1100))

    squeeze, window = squeezed(talk)

    assert squeeze.record.results == ("4",)
    assert contents(window.view(talk).messages) == [
        "r" * 400,
        "[elided 1500 chars of tool output]",
        *("r" * 300, "r" * 1100),
    ]


def test_results_of_the_newest_rounds_stay_as_long_as_the_request_is_possible() -> None:
    talk = Transcript().prompt(40).round(3500)

    squeeze, window = squeezed(talk)

    assert squeeze.record.steps == ()
    assert shown(window, talk) == ["0", "1", "2"]


def test_above_the_ceiling_even_the_newest_output_is_elided() -> None:
    talk = Transcript().prompt(40).round(400, 9000)

    squeeze, window = squeezed(talk)

    assert (squeeze.record.results, squeeze.is_vain) == (("3",), True)
    assert contents(window.view(talk).messages) == ["r" * 400, "[elided 9000 chars of tool output]"]


def chat(turns: int, size: int = 400) -> Transcript:
    talk = Transcript()
    for _ in range(turns):
        talk.prompt(size).words(size)
    return talk.prompt(40)


def test_the_oldest_turns_are_summed_up_when_the_rest_is_not_enough() -> None:
    talk = chat(4)

    squeeze, window = squeezed(talk, "They said p and w.")

    assert squeeze.record == Compaction(
        "8", covered=("0", "1", "2", "3", "4"), summary="They said p and w.", before=810, after=335
    )
    assert shown(window, talk) == ["summary", "5", "6", "7", "8"]
    first = window.view(talk).messages[0]
    assert isinstance(first, UserMessage)
    assert first.text.endswith("They said p and w.")
    assert not squeeze.is_vain


def test_a_second_summary_takes_the_first_one_in() -> None:
    talk = chat(4)
    squeeze, window = squeezed(talk, "One.")
    talk.words(400).prompt(400).words(400).prompt(400).words(400).prompt(40)
    window.weigh(talk)

    again = Squeeze(window, talk[-1].id, 0, 1.0)
    told = [message.id for message in again.covered()]
    again.summarize("Two.")

    assert told[0] == "summary"
    assert again.record.covered == tuple(told)
    assert shown(window, talk).count("summary") == 1
    resumed = Window(window.rules, [squeeze.record, again.record])
    assert resumed.view(talk).messages == window.view(talk).messages


def test_a_view_that_is_begun_again_is_the_same() -> None:
    talk = chat(4)
    squeeze, window = squeezed(talk, "They said p and w.")
    before = window.view(talk).messages

    window.note(squeeze.record)
    window.forget()

    assert window.view(talk).messages == before


def test_what_is_done_for_the_newest_prompt_is_summed_up_behind_it() -> None:
    talk = Transcript().prompt(40)
    for _ in range(8):
        talk.round(90, 90, 90, 90)

    _, window = squeezed(talk, "Much was read.")

    assert shown(window, talk)[:2] == ["0", "summary"]


@pytest.mark.parametrize("summary", ["", "  \n"], ids=["none", "blank"])
def test_without_a_summary_the_oldest_units_are_dropped(summary: str) -> None:
    talk = chat(4)

    squeeze, window = squeezed(talk, summary)

    assert (squeeze.record.covered, squeeze.record.dropped) == ((), ("0", "1", "2", "3"))
    assert shown(window, talk) == ["4", "5", "6", "7", "8"]


def test_a_summary_that_is_longer_than_what_it_stands_for_is_not_used() -> None:
    talk = Transcript().prompt(100).words(100).prompt(3100)

    squeeze, _ = squeezed(talk, "x" * 300)

    assert (squeeze.record.covered, squeeze.record.dropped) == ((), ("0", "1"))


def test_a_summary_is_cut_to_a_tenth_of_the_ceiling() -> None:
    squeeze, _ = squeezed(chat(6, 800), "s" * 5000, context_window=1600)

    assert squeeze.record.summary == "s" * 640 + " […]"


def test_no_summary_is_wanted_when_they_are_off() -> None:
    talk = chat(4)

    squeeze, window = squeezed(talk, "Never asked for.", summarizes=False)

    assert (squeeze.record.steps, squeeze.covered()) == (("dropped",), [])
    assert shown(window, talk) == ["4", "5", "6", "7", "8"]


def test_with_a_dropped_prompt_goes_the_rest_of_its_turn() -> None:
    talk = Transcript().prompt(1600).words(400).words(400).prompt(1600)

    _, window = squeezed(talk, summarizes=False, context_window=1100, drop_to_pct=70)

    assert shown(window, talk) == ["3"]


def test_on_demand_all_that_lies_before_the_newest_prompt_is_summed_up() -> None:
    talk = chat(2, 100)

    squeeze, window = squeezed(talk, "All of it.", thorough=True)

    assert squeeze.record.covered == ("0", "1", "2", "3")
    assert shown(window, talk) == ["summary", "4"]


def test_a_compaction_that_frees_hardly_anything_is_in_vain() -> None:
    talk = Transcript().prompt(10).words(10).prompt(3300)

    squeeze, _ = squeezed(talk)

    assert squeeze.is_vain


def test_what_takes_the_space_is_told_by_kind() -> None:
    talk = Transcript().prompt(40).round(400)
    thinking(talk, 40)

    assert by_kind(talk, 2.0) == (
        ("summary", 0),
        ("prompts", 20),
        ("answers", 1),
        ("thinking", 25),
        ("calls", 3),
        ("results", 200),
        ("other", 0),
    )
