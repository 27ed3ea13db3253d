"""Requests as OpenAI Chat Completions bodies. `SMITH_WRITE_GOLDEN=1` writes the kept ones anew."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Message,
    Text,
    Thinking,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from smith_server.core.ports import Request
from smith_server.llm.openai_request import OpenAIEncoder
from smith_server.llm.presets import PRESETS, Preset

GOLDEN = Path(__file__).parent.parent / "golden" / "requests"
SOURCES = {**PRESETS, "custom": Preset("custom", "http://maker.test/v1", compat=PRESETS["custom"].compat)}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolSpec("read", "Read a file.", SCHEMA), ToolSpec("list", "List files."))
ASK = UserMessage("t1.1", "What is in a.py?")


def round_of(*calls: Call, before: tuple[Any, ...] = (), model: str = "m") -> tuple[Message, ...]:
    results = [ToolMessage(f"r{call.id}", call.id, call.name, f"result of {call.id}") for call in calls]
    return (AssistantMessage("t1.2", (*before, *calls), model, "tool_use"), *results)


def reasoning(issuer: str) -> tuple[Message, ...]:
    fields = {
        "reasoning_content": "hm",
        "reasoning": "hm",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "QUJD"}],
    }
    first = tuple(Thinking("hm", issuer, {name: fields[name]}) for name in fields)
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}, "issuer": issuer}
    return (ASK, *round_of(Call("a", "read", '{"path":"a.py"}', extra), before=first))


def requests(source: Preset) -> dict[str, Request]:
    parallel = (Call("a", "read", '{"path":"a.py"}'), Call("b", "list"))
    broken = tuple(
        Call(f"x{at}", "read", text) for at, text in enumerate(['{"path": ', "[1]", "", '"{\\"path\\":\\"a\\"}"'])
    )
    return {
        "plain": Request("m", "Be brief.", (ASK,)),
        "tools": Request("m", "Be brief.", (ASK, *round_of(parallel[0], before=(Text("Let me look."),))), TOOLS),
        "parallel": Request("m", "", (ASK, *round_of(*parallel)), TOOLS),
        "invalid_arguments": Request("m", "", (ASK, *round_of(*broken))),
        "own_reasoning": Request("m", "", reasoning(source.issuer)),
        "foreign_reasoning": Request("m", "", reasoning("somebody")),
        "whole": Request("m", "", (ASK,), (), 4096, 0.5, stream=False),
    }


CASES = [(name, case) for name in SOURCES for case in requests(SOURCES[name])]


@pytest.mark.parametrize(("name", "case"), CASES, ids=["-".join(each) for each in CASES])
def test_a_request_is_written_as_kept(name: str, case: str) -> None:
    source = SOURCES[name]
    body = OpenAIEncoder(source).body(requests(source)[case])
    kept = GOLDEN / f"{name}-{case}.json"
    if os.environ.get("SMITH_WRITE_GOLDEN"):
        kept.write_text(json.dumps(json.loads(body), indent=2) + "\n", encoding="utf-8")
    assert json.loads(body) == json.loads(kept.read_text(encoding="utf-8"))
    assert len(body) == len(msgspec.json.encode(json.loads(body)))


def messages(source: Preset, *parts: Message, **more: Any) -> list[dict[str, Any]]:
    body = json.loads(OpenAIEncoder(source).body(Request("m", "", parts, **more)))
    found: list[dict[str, Any]] = body["messages"]
    return found


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
    "nothing": ((), ""),
    "thinking alone": ((Thinking("hm"),), ""),
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
    talk = reasoning(custom.issuer)
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


UNPAIRED: dict[str, tuple[Message, ...]] = {
    "a call without its result": (ASK, AssistantMessage("2", (Call("a", "f"),))),
    "a question before the result": (ASK, AssistantMessage("2", (Call("a", "f"),)), ASK),
    "a result without its call": (ASK, ToolMessage("3", "a", "f", "x")),
    "two results of one call": (ASK, *round_of(Call("a", "f")), ToolMessage("4", "a", "f", "x")),
    "one id for two calls": (ASK, *round_of(Call("a", "f")), *round_of(Call("a", "f"))),
    "a call without an id": (ASK, *round_of(Call("", "f"))),
}


@pytest.mark.parametrize("talk", UNPAIRED.values(), ids=UNPAIRED)
def test_unpaired_calls_are_never_sent(talk: tuple[Message, ...]) -> None:
    with pytest.raises(AgentFailure) as caught:
        OpenAIEncoder(PRESETS["openai"]).body(Request("m", "", talk))
    assert (caught.value.error.kind, caught.value.error.code) == ("protocol", "unpaired_calls")


class Watched(dict[str, Any]):
    """Counts how often it is looked into."""

    looks = 0

    def get(self, *args: Any) -> Any:
        self.looks += 1
        return super().get(*args)


def test_a_message_is_encoded_once() -> None:
    extra = Watched(issuer="somebody")
    talk: tuple[Message, ...] = (ASK, *round_of(Call("a", "f", "{}", extra)))
    encoder = OpenAIEncoder(PRESETS["openai"])
    first = encoder.body(Request("m", "", talk))
    looks = extra.looks
    for number in range(3):
        talk = (*talk, UserMessage(f"u{number}", "more"))
        encoder.body(Request("m", "", talk))
    assert looks > 0
    assert extra.looks == looks
    assert encoder.body(Request("m", "", talk[:3])) == first


def test_messages_of_finished_conversations_are_forgotten() -> None:
    encoder = OpenAIEncoder(PRESETS["openai"])
    extra = Watched(issuer="somebody")
    old: tuple[Message, ...] = (ASK, *round_of(Call("a", "f", "{}", extra)))
    encoder.body(Request("m", "", old))
    looks = extra.looks
    for _ in range(12):
        encoder.body(Request("m", "", (UserMessage("big", "x" * 1_000_000),)))
    encoder.body(Request("m", "", old))
    assert extra.looks == 2 * looks
