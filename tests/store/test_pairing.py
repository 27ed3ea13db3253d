import pytest

from smith_server.core.conversation import Conversation
from smith_server.core.messages import AssistantMessage, Call, Message, ToolMessage, UserMessage
from smith_server.store.pairing import INTERRUPTED, NO_RESULT, Lost, paired

ASKED = UserMessage("t000001.0001", "go")
REPLY = AssistantMessage("t000001.0002", (Call("a", "read"), Call("b", "bash")))
A = ToolMessage("t000001.0003", "a", "read", "text")
B = ToolMessage("t000001.0004", "b", "bash", "text")
NEXT = UserMessage("t000002.0001", "more")


def missing(name: str, call_id: str, tool: str) -> ToolMessage:
    return ToolMessage(name, call_id, tool, NO_RESULT, ok=False, code=INTERRUPTED)


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ([ASKED, REPLY, A, B, NEXT], [ASKED, REPLY, A, B, NEXT]),
        ([ASKED, REPLY, B, A, NEXT], [ASKED, REPLY, B, A, NEXT]),
        ([ASKED, REPLY, A, NEXT], [ASKED, REPLY, A, missing("t000001.0002-1", "b", "bash"), NEXT]),
        ([ASKED, REPLY, A, Lost(B.id, "tool"), NEXT], [ASKED, REPLY, A, missing(B.id, "b", "bash"), NEXT]),
        ([ASKED, REPLY, A, A, B], [ASKED, REPLY, A, B]),
        ([ASKED, Lost(REPLY.id, "assistant"), A, B, NEXT], [ASKED, NEXT]),
        ([Lost(ASKED.id, "user"), REPLY, A, B], [REPLY, A, B]),
        ([A, ASKED], [ASKED]),
        (
            [REPLY, Lost("t000001.0005", "assistant"), A],
            [REPLY, *(missing(f"t000001.0002-{n}", c, t) for n, c, t in ((1, "a", "read"), (2, "b", "bash")))],
        ),
        ([], []),
    ],
    ids=[
        "whole",
        "results in another order",
        "a result is missing",
        "a result cannot be read",
        "a result is there twice",
        "the reply cannot be read",
        "the prompt cannot be read",
        "a result without a call",
        "results behind a reply that cannot be read",
        "nothing",
    ],
)
def test_every_call_has_one_result(stored: list[Message | Lost], wanted: list[Message]) -> None:
    found = paired(stored)
    conversation = Conversation()
    for message in found:
        conversation.add(message)
    assert found == wanted
    assert conversation.open_calls() == ()


def test_the_last_calls_stay_open_while_the_turn_runs() -> None:
    assert paired([ASKED, REPLY, A], is_running=True) == [ASKED, REPLY, A]
    assert paired([ASKED, REPLY, A]) == [ASKED, REPLY, A, missing("t000001.0002-1", "b", "bash")]
