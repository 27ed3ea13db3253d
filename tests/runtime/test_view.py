import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from smith_server.config.schema import ContextManagement
from smith_server.core.account import Meter
from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentFailure, Cancelled, agent_error
from smith_server.core.events import CompactionStarted, ContextCompacted, ContextTrimmed, Event
from smith_server.core.messages import AssistantMessage, Call, Message, Text, ToolMessage, ToolSpec, Usage, UserMessage
from smith_server.core.ports import Done, Failed, Request
from smith_server.runtime.compact import Summarizer, told
from smith_server.runtime.view import WindowView, rules_of
from tests.fakes.provider import FakeProvider
from tests.fakes.transcripts import Transcript

FRAME = Request("m", "", (), (), 100)
SUMMARY = [Done((Text("They said p and w."),), "stop", Usage(50, output=9))]


class Stage:
    """A view with a window of 1000 tokens, and the model that it asks for summaries."""

    def __init__(self, *replies: Sequence[object], window: int = 1000, frame: Request = FRAME, **settings: Any) -> None:
        self.events: list[Event] = []
        self.provider = FakeProvider(*replies)
        self.token = CancelToken()
        self.meter = Meter()
        managed = ContextManagement(**{"tool_output_keep_rounds": 1, **settings})
        rules = rules_of(managed, can_recall=False, window=window, output_limit=0)
        self.view = WindowView(rules, self.events.append)
        self.view.use(frame, Summarizer(self.provider, frame, self.token, self.meter))

    async def sent(self, talk: list[Message]) -> list[str]:
        return [message.id for message in (await self.view.next(talk)).messages]

    @property
    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


def chat(turns: int, size: int = 400) -> Transcript:
    talk = Transcript()
    for _ in range(turns):
        talk.prompt(size).words(size)
    return talk.prompt(40)


async def test_below_the_trigger_nothing_happens() -> None:
    stage, talk = Stage(), chat(3)

    assert await stage.sent(talk) == [message.id for message in talk]
    assert (stage.events, stage.provider.requests) == ([], [])


async def test_above_it_the_model_is_asked_to_sum_up_and_the_summary_is_sent() -> None:
    stage, talk = Stage(SUMMARY), chat(4)

    assert await stage.sent(talk) == ["summary", "5", "6", "7", "8"]

    (asked,) = stage.provider.requests
    assert (asked.model, asked.tools, asked.max_output_tokens) == ("m", (), 100)
    assert "[person] " + "p" * 400 in asked.messages[0].whole
    started, compacted = stage.events
    assert started == CompactionStarted(estimate=810, limit=800)
    assert isinstance(compacted, ContextCompacted)
    assert (compacted.steps, compacted.before, compacted.after, compacted.covered) == (("summary",), 810, 335, 5)
    assert stage.meter.account.total == Usage(50, output=9, requests=1)
    assert stage.view.used() == compacted.usage == stage.meter.account.total
    assert stage.view.used() == Usage()
    assert await stage.sent(talk.words(40)) == ["summary", "5", "6", "7", "8", "9"]


@pytest.mark.parametrize(
    "reply",
    [
        [Failed(agent_error("transport", "overloaded", "busy"))],
        [Done((), "stop")],
        [],
    ],
    ids=["failed", "empty", "broken off"],
)
async def test_when_there_is_no_summary_the_oldest_part_is_dropped(reply: Sequence[object]) -> None:
    stage = Stage(reply)

    assert await stage.sent(chat(4)) == ["4", "5", "6", "7", "8"]
    assert stage.kinds == ["CompactionStarted", "ContextCompacted"]
    assert stage.view.used().requests == 1


async def test_with_summaries_off_nobody_is_asked() -> None:
    stage = Stage(summarize=False)

    assert await stage.sent(chat(4)) == ["4", "5", "6", "7", "8"]
    assert stage.kinds == ["ContextCompacted"]


async def test_switched_off_everything_is_sent() -> None:
    stage, talk = Stage(enabled=False), chat(40)

    assert await stage.sent(talk) == [message.id for message in talk]
    assert stage.events == []


async def test_a_cancel_ends_the_wait_for_a_summary_and_what_was_done_is_told() -> None:
    stage = Stage([asyncio.Event()])
    talk = Transcript().prompt(40)
    for at in (1, 3):
        talk.append(AssistantMessage(str(at), (Call(f"c{at}", "bash", "{}"),)))
        talk.append(ToolMessage(str(at + 1), f"c{at}", "bash", "r" * 1700))
    talk.words(400).prompt(40)
    task = asyncio.create_task(stage.view.next(talk))
    while not stage.provider.requests:
        await asyncio.sleep(0)

    stage.token.request()

    with pytest.raises(Cancelled):
        await task
    done = stage.events[-1]
    assert isinstance(done, ContextCompacted)
    assert done.record.results == ("2",)


async def test_the_smallest_request_is_sent_above_the_trigger_and_fails_above_the_ceiling() -> None:
    assert await Stage().sent(Transcript().prompt(3900)) == ["0"]

    stage = Stage(frame=msgspec.structs.replace(FRAME, system="s" * 400, tools=(ToolSpec("read", "r" * 300),)))
    with pytest.raises(AgentFailure) as caught:
        await stage.sent(Transcript().prompt(3900))

    error = caught.value.error
    assert (error.kind, error.code) == ("budget_exhausted", "context_exhausted")
    assert "prompts 975, system 100, tools" in error.message
    assert (error.data["ceiling"], error.data["space"]["system"]) == (1000, 100)


async def test_two_compactions_in_a_row_that_do_not_help_end_the_turn_and_a_new_prompt_begins_anew() -> None:
    stage, talk = Stage(summarize=False), Transcript().prompt(3300).round(10).round(10)
    assert await stage.sent(talk) == ["0", "3", "4"]

    with pytest.raises(AgentFailure) as caught:
        await stage.sent(talk.round(10))
    assert caught.value.error.code == "context_exhausted"

    assert await stage.sent(talk.prompt(40)) == ["7"]


async def test_a_step_of_elision_is_told_as_before() -> None:
    stage = Stage(window=100_000, elide_step=1, elide_min_gain_pct=0)
    talk = Transcript().prompt().round(2000)
    await stage.sent(talk)
    await stage.sent(talk.round(2000))

    (trimmed,) = stage.events
    assert trimmed == ContextTrimmed(elided=1, dropped=0, estimate=514, limit=80_000)


async def test_on_demand_the_past_is_summed_up_however_small_it_is() -> None:
    stage, talk = Stage(SUMMARY), chat(2)

    record = await stage.view.compact(talk)

    assert record.covered == ("0", "1", "2", "3")
    assert await stage.sent(talk) == ["summary", "4"]
    assert stage.kinds == ["CompactionStarted", "ContextCompacted"]


async def test_the_report_of_a_provider_corrects_what_is_over_the_trigger() -> None:
    stage, talk = Stage(SUMMARY), chat(3)
    await stage.sent(talk)
    stage.view.answered(Usage(900))

    assert (await stage.sent(talk))[0] == "summary"


@pytest.mark.parametrize("room", [300, 1000, 100_000])
def test_what_is_to_be_summed_up_fits_the_room_and_the_newest_part_is_kept(room: int) -> None:
    talk: list[Message] = [UserMessage("0", "a" * 5000), UserMessage("1", "b" * 5000), UserMessage("2", "the end")]

    text = told(talk, room)

    assert len(text) <= room
    assert text.endswith("[person] the end")
    assert (text == "\n\n".join(f"[person] {message.whole}" for message in talk)) == (room == 100_000)


def test_calls_and_their_output_are_told_by_name() -> None:
    talk = [
        AssistantMessage("0", (Text("Let me see."), Call("c", "bash", '{"command": "ls"}'))),
        ToolMessage("1", "c", "bash", "no such thing", ok=False),
    ]

    assert told(talk, 1000) == (
        '[agent] Let me see.\n\n[agent calls bash] {"command": "ls"}\n\n[output of bash, which failed] no such thing'
    )
