"""Stored messages as the events that would have shown them."""

from smith_server.core.events import MessageAdded, TurnCompleted, TurnStarted
from smith_server.core.messages import AssistantMessage, Text, UserMessage
from smith_server.runtime.replay import Replay
from smith_server.store.pages import Said


def test_a_word_of_smith_to_the_model_begins_no_turn_and_shows_nothing() -> None:
    said = UserMessage("t000001.0001", "do it")
    half = AssistantMessage("t000001.0002", (Text("one, "),), "m", "max_tokens")
    aside = UserMessage("t000001.0003", "[Go on.]", aside=True)
    rest = AssistantMessage("t000001.0004", (Text("two"),), "m")
    replay = Replay("c")
    events = [each.event for message in (said, half, aside, rest) for each in replay.said(Said(message))]
    events += [each.event for each in replay.rest()]
    assert [event for event in events if isinstance(event, TurnStarted)] == [TurnStarted(text="do it")]
    assert MessageAdded(message=aside) in events
    assert isinstance(events[-1], TurnCompleted)
