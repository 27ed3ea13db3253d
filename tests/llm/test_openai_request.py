"""What is special about requests of the OpenAI dialect."""

import json
from typing import Any

import msgspec
import pytest

from smith_server.core.messages import AssistantMessage, Call, Text, Thinking, ToolMessage, UserMessage
from smith_server.core.ports import Request
from smith_server.llm.openai_request import OpenAIEncoder
from smith_server.llm.presets import PRESETS
from tests.llm.talks import ASK, SOURCES, reasoning, round_of
from tests.llm.talks import sent as messages


def test_an_effort_goes_where_the_vendor_wants_it() -> None:
    openai = msgspec.structs.replace(PRESETS["openai"], effort="low")
    openrouter = msgspec.structs.replace(PRESETS["openrouter"], effort="low")
    request = Request("m", "", (ASK,))
    assert json.loads(OpenAIEncoder(openai).body(request))["reasoning_effort"] == "low"
    assert json.loads(OpenAIEncoder(openrouter).body(request))["reasoning"] == {"effort": "low"}


def test_a_request_without_a_model_asks_for_the_default_one() -> None:
    body = OpenAIEncoder(PRESETS["openai"]).body(Request("", "", (ASK,)))
    assert json.loads(body)["model"] == PRESETS["openai"].default_model


CONTENTS: dict[str, tuple[tuple[Any, ...], str | None]] = {
    "text": ((Text("a"), Text("b")), "ab"),
    "a call": ((Call("a", "f"),), None),
    "blanks and a call": ((Text(" \n"), Call("a", "f")), None),
}


@pytest.mark.parametrize(("parts", "content"), CONTENTS.values(), ids=CONTENTS)
def test_the_content_of_a_reply_is_null_only_beside_calls(parts: tuple[Any, ...], content: str | None) -> None:
    reply = AssistantMessage("t1.2", parts)
    results = [ToolMessage("r", call.id, call.name, "") for call in reply.calls]
    assert messages(PRESETS["openai"], ASK, reply, *results)[1]["content"] == content


def test_reasoning_goes_back_to_the_model_that_gave_it_and_to_no_other() -> None:
    custom = SOURCES["custom"]
    encoder = OpenAIEncoder(custom)
    talk = reasoning(custom)
    for model, expected in (("m", "hm"), ("n", None), ("m", "hm")):
        reply = json.loads(encoder.body(Request(model, "", talk)))["messages"][1]
        assert reply.get("reasoning_content") == expected
        assert ("extra_content" in reply["tool_calls"][0]) is (expected is not None)


def test_reasoning_in_several_stretches_is_joined() -> None:
    custom = SOURCES["custom"]
    stretches = [Thinking(each, custom.issuer, {"reasoning_content": each}) for each in ("a", "b")]
    reply = AssistantMessage("t1.2", (stretches[0], Text("x"), stretches[1]), "m")
    assert messages(custom, ASK, reply)[1] == {"role": "assistant", "content": "x", "reasoning_content": "ab"}


def test_halves_of_characters_become_replacements_in_what_is_sent() -> None:
    talk = (UserMessage("1", "a\ud83d"), *round_of(Call("a\udc00", "read", '{"path":"\ud83d"}')))
    sent = messages(PRESETS["openai"], *talk)
    assert sent[0]["content"] == "a\ufffd"
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "a\ufffd"


def test_a_name_that_no_server_takes_is_made_harmless() -> None:
    called = messages(PRESETS["openai"], ASK, *round_of(Call("a", "my tool/é!" + "x" * 80), Call("b", "")))[1]
    names = [call["function"]["name"] for call in called["tool_calls"]]
    assert names == ["my_tool___" + "x" * 54, "unknown"]


def test_an_id_too_long_for_the_vendor_is_shortened_alike_in_call_and_result() -> None:
    call = Call("functions.read:0" + "x" * 60, "read")
    sent = messages(PRESETS["openai"], ASK, *round_of(call))
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"]
    assert len(sent[2]["tool_call_id"]) <= 40
    assert messages(PRESETS["openrouter"], ASK, *round_of(call))[2]["tool_call_id"] == call.id


def test_a_conversation_that_begins_with_a_reply_gets_a_stand_in() -> None:
    sent = messages(PRESETS["ollama"], *round_of(Call("a", "f")))
    assert [each["role"] for each in sent] == ["user", "assistant", "tool"]
