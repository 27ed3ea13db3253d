import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.conversation import Conversation, turn_number, turn_of
from smith_server.core.messages import AssistantMessage, Call, Text, ToolMessage, UserMessage


def reply(talk: Conversation, *ids: str) -> AssistantMessage:
    return AssistantMessage(talk.mint(), (Text("so"), *(Call(id, "read") for id in ids)), stop="tool_use")


def test_ids_grow_and_are_never_given_twice() -> None:
    talk = Conversation(next_turn=9)
    assert talk.begin_turn() == "t000009"
    assert [talk.mint(), talk.mint()] == ["t000009.0001", "t000009.0002"]
    assert talk.begin_turn() == "t000010"
    assert talk.mint() == "t000010.0001"
    assert turn_number(turn_of("t000010.0001")) == 10


def test_a_result_without_its_call_is_refused() -> None:
    talk = Conversation()
    talk.begin_turn()
    with pytest.raises(ValueError, match="no open call"):
        talk.add(ToolMessage(talk.mint(), "c1", "read", "text"))


def test_nothing_may_stand_between_a_call_and_its_result() -> None:
    talk = Conversation()
    talk.begin_turn()
    talk.add(reply(talk, "c1"))
    with pytest.raises(ValueError, match="without a result"):
        talk.add(UserMessage(talk.mint(), "hello"))


def test_closing_gives_every_open_call_a_result_in_call_order() -> None:
    talk = Conversation()
    talk.begin_turn()
    talk.add(reply(talk, "a", "b", "c"))
    talk.add(talk.result(Call("b", "read"), "text"))
    made = talk.close("cancelled", "not run")
    assert [(message.call_id, message.code, message.ok) for message in made] == [
        ("a", "cancelled", False),
        ("c", "cancelled", False),
    ]
    assert talk.open_calls() == ()
    assert talk.close("cancelled", "again") == []


@given(st.lists(st.sampled_from(["user", "reply", "calls", "result", "close", "turn"]), max_size=40))
def test_whatever_happens_the_conversation_stays_paired(steps: list[str]) -> None:
    talk = Conversation()
    talk.begin_turn()
    number = 0
    for step in steps:
        number += 1
        try:
            match step:
                case "user":
                    talk.add(UserMessage(talk.mint(), "text"))
                case "reply":
                    talk.add(reply(talk))
                case "calls":
                    talk.add(reply(talk, f"x{number}", f"y{number}"))
                case "result":
                    open_calls = talk.open_calls()
                    talk.add(talk.result(open_calls[-1], "text") if open_calls else reply(talk))
                case "close":
                    talk.close("cancelled", "not run")
                case "turn":
                    talk.begin_turn()
        except ValueError:
            continue
    talk.close("cancelled", "not run")
    assert unpaired(talk) == []


def unpaired(talk: Conversation) -> list[str]:
    waiting: list[str] = []
    wrong: list[str] = []
    for message in talk.messages:
        if isinstance(message, ToolMessage):
            if message.call_id in waiting:
                waiting.remove(message.call_id)
            else:
                wrong.append(message.call_id)
            continue
        wrong += waiting
        waiting = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []
    return wrong + waiting
