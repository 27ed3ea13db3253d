"""A limit of costs: looked at before each request and behind each answer, which is kept."""

import msgspec

from smith_server.core.account import Account, Meter, counted
from smith_server.core.budget import Budget
from smith_server.core.conversation import Conversation
from smith_server.core.errors import agent_error
from smith_server.core.events import ErrorReported, Event, UsageUpdated
from smith_server.core.messages import Text, ToolMessage, Usage
from smith_server.core.ports import Done, Failed, Request
from smith_server.core.scope import TurnInput
from smith_server.core.turn import TurnEnd, run_turn
from smith_server.llm.retry import Retries, RetryRules
from tests.core.test_turn import begun, done
from tests.fakes.provider import FakeProvider
from tests.fakes.turns import FakeTool, FakeView, call, calls, turn_input

BUSY = agent_error("transport", "overloaded", "too busy")


def a_dollar(answer: Done | Failed) -> Usage:
    return msgspec.structs.replace(counted(answer), cost=1.0)


def unknown(answer: Done | Failed) -> Usage:
    return msgspec.structs.replace(counted(answer), unpriced=1)


async def played(turn: TurnInput, *replies: list[object]) -> tuple[TurnEnd, list[Event], Conversation, FakeProvider]:
    events: list[Event] = []
    talk, provider = begun(), FakeProvider(*replies)
    turn = msgspec.structs.replace(turn, provider=provider)
    return await run_turn(turn, talk, events.append), events, talk, provider


async def test_at_the_limit_the_answer_stays_and_its_calls_are_closed_unrun() -> None:
    tool = FakeTool()
    turn = turn_input(tools=[tool], budget=Budget(max_cost=2.0), meter=Meter(a_dollar))
    end, events, talk, _ = await played(turn, [calls(call(id="a"))], [calls(call(id="b"))], [done("never")])
    assert (end.stop_reason, end.error and end.error.code, end.usage) == (
        "budget_exhausted",
        "max_cost",
        Usage(requests=2, cost=2.0),
    )
    assert end.error is not None
    assert end.error.data == {"spent_usd": 2.0, "limit_usd": 2.0}
    assert [(message.call_id, message.code) for message in talk.messages if isinstance(message, ToolMessage)] == [
        ("a", ""),
        ("b", "skipped"),
    ]
    assert tool.ran == ["hi"]
    assert [event.cost for event in events if isinstance(event, UsageUpdated)] == [1.0, 2.0]


async def test_what_was_spent_before_leaves_nothing_to_ask_with() -> None:
    meter = Meter(a_dollar, Account(Usage(requests=9, cost=5.0)))
    end, events, _, provider = await played(turn_input(budget=Budget(max_cost=5.0), meter=meter), [done("never")])
    assert (end.stop_reason, end.usage, provider.requests, events) == ("budget_exhausted", Usage(), [], [])


class Summing(FakeView):
    """Each request costs a summary first."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.spent = Usage()

    async def next(self, messages: object) -> Request:
        self.spent = self.spent + self.meter.charge(Done((), "stop"))
        return Request("fake-model", "system", ())

    def used(self) -> Usage:
        spent, self.spent = self.spent, Usage()
        return spent


async def test_a_summary_that_reaches_the_limit_is_the_last_thing_that_is_paid_for() -> None:
    meter = Meter(a_dollar)
    turn = turn_input(budget=Budget(max_cost=1.0), meter=meter, view=Summing(meter))
    end, events, _, provider = await played(turn, [done("never")])
    assert (end.stop_reason, end.usage, provider.requests) == ("budget_exhausted", Usage(requests=1, cost=1.0), [])
    assert [event for event in events if isinstance(event, ErrorReported)] == []


async def test_summaries_and_answers_are_one_sum() -> None:
    meter = Meter(a_dollar)
    end, _, _, _ = await played(turn_input(meter=meter, view=Summing(meter)), [done("yes")])
    assert end.usage == meter.account.total == Usage(requests=2, cost=2.0)


async def test_a_failed_request_that_reaches_the_limit_is_not_repeated_and_both_are_told() -> None:
    retries = Retries(RetryRules())
    turn = turn_input(budget=Budget(max_cost=1.0), meter=Meter(a_dollar), retries=retries)
    end, events, talk, provider = await played(turn, [Failed(BUSY, (Text("Half"),))], [done("never")])
    assert (end.error and end.error.code, len(provider.requests)) == ("max_cost", 1)
    assert [event.error.code for event in events if isinstance(event, ErrorReported)] == ["overloaded"]
    assert [message.text for message in talk.messages] == ["do it", "Half"]  # type: ignore[union-attr]


async def test_what_has_no_known_cost_holds_nobody_up_and_is_told_as_unknown() -> None:
    end, events, _, _ = await played(turn_input(budget=Budget(max_cost=0.01), meter=Meter(unknown)), [done("yes")])
    assert (end.stop_reason, end.usage.known_cost) == ("completed", None)
    assert [event.cost for event in events if isinstance(event, UsageUpdated)] == [None]


async def test_the_next_request_is_made_with_the_input_as_it_is_then() -> None:
    other = FakeProvider([done("from another")])

    async def renewed(turn: TurnInput) -> TurnInput:
        return msgspec.structs.replace(turn, provider=other) if provider_of(turn).requests else turn

    def provider_of(turn: TurnInput) -> FakeProvider:
        assert isinstance(turn.provider, FakeProvider)
        return turn.provider

    end, _, talk, first = await played(turn_input(tools=[FakeTool()], renewed=renewed), [calls(call())])
    assert (end.stop_reason, len(first.requests), len(other.requests)) == ("completed", 1, 1)
    assert talk.messages[-1].text == "from another"  # type: ignore[union-attr]
