"""Any history, whole or torn, becomes one that the strictest provider takes."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Message,
    Part,
    Text,
    Thinking,
    ToolMessage,
    UserMessage,
)
from smith_server.core.ports import Request
from smith_server.llm.dialects import DIALECTS
from smith_server.llm.http import Connections
from smith_server.llm.linkage import problem_of
from smith_server.llm.presets import PRESETS, Preset, ThinkingBudget
from smith_server.llm.provider import HttpProvider
from smith_server.llm.replay import Target, replayed
from tests.llm.hearing import heard
from tests.llm.server import Line, serving
from tests.llm.strict import MARK, refusal
from tests.llm.talks import ASK, LONG, SOURCES, TOOLS, body_of, model_of, reasoning, round_of, sent

OWN, FOREIGN = "signed by us: ", "signed by others: "
IDS = ["a", "b", "", "call_0", "functions.read:0", LONG, "é"]
texts = st.sampled_from(["", " \n", "words", "\ud83d"])


def thought(issuer: str, text: str, signature: str) -> Thinking:
    return Thinking(text, issuer, {"type": "thinking", "thinking": text, "signature": signature + text})


def parts(preset: Preset) -> st.SearchStrategy[Part]:
    own = thought(preset.issuer, "hm", OWN) if preset.dialect == "anthropic" else Thinking("hm", preset.issuer, {})
    calls = st.builds(
        Call, st.sampled_from(IDS), st.sampled_from(["read", "my tool"]), st.sampled_from(["", "{", "{}"])
    )
    return st.one_of(
        texts.map(Text), calls, st.sampled_from([own, thought("somebody", "hm", FOREIGN), Thinking("unsigned")])
    )


def messages(preset: Preset) -> st.SearchStrategy[tuple[Message, ...]]:
    said = st.builds(UserMessage, st.just("u"), texts, texts)
    replies = st.builds(
        AssistantMessage,
        st.sampled_from(["r1", "r2", "r3"]),
        st.lists(parts(preset), max_size=4).map(tuple),
        st.sampled_from(["m", "other"]),
    )
    results = st.builds(ToolMessage, st.just("t"), st.sampled_from(IDS), st.just("read"), texts, st.booleans())
    return st.lists(st.one_of(said, replies, results), min_size=1, max_size=9).map(tuple)


@pytest.mark.parametrize("source", ["openai", "anthropic"])
@given(data=st.data())
def test_whatever_a_history_holds_a_strict_provider_takes_it(source: str, data: st.DataObject) -> None:
    preset = SOURCES[source]
    talk = (*data.draw(messages(preset)), UserMessage("last", "Go on."))
    before = msgspec.json.encode(msgspec.to_builtins(talk[-1]))
    body = body_of(preset, Request("m", "Be brief.", talk, TOOLS))
    assert refusal(body, preset, {OWN + "hm"}) == ""
    assert json.dumps(body).count(MARK) <= 4
    assert msgspec.json.encode(msgspec.to_builtins(talk[-1])) == before


@given(talk=messages(SOURCES["anthropic"]), cut=st.integers(0, 9))
def test_a_history_that_grew_is_sent_like_one_that_came_at_once(talk: tuple[Message, ...], cut: int) -> None:
    preset = SOURCES["anthropic"]
    encoder = DIALECTS[preset.dialect].encoder(preset)
    if talk[:cut]:
        encoder.body(Request("m", "", talk[:cut]))
    assert encoder.body(Request("m", "", talk)) == DIALECTS[preset.dialect].encoder(preset).body(Request("m", "", talk))


@given(talk=messages(SOURCES["anthropic"]))
def test_what_is_sent_pairs_every_call_with_one_result(talk: tuple[Message, ...]) -> None:
    assert problem_of(replayed(talk, Target("anthropic", "m", "word", 64))) == ""


TORN: dict[str, tuple[Message, ...]] = {
    "a call without its result": (ASK, AssistantMessage("2", (Call("a", "f"),), "m")),
    "a question before the result": (ASK, AssistantMessage("2", (Call("a", "f"), Call("b", "f")), "m"), ASK),
    "a result without its call": (ASK, ToolMessage("3", "a", "f", "x"), ASK),
    "two results of one call": (ASK, *round_of(Call("a", "f")), ToolMessage("4", "a", "f", "x"), ASK),
    "one id for two calls": (ASK, *round_of(Call("a", "f")), *round_of(Call("a", "f"), at="t2")),
    "one id twice in a reply": (ASK, *round_of(Call("a", "f"), Call("a", "f"))),
    "a call without an id": (ASK, *round_of(Call("", "f"))),
    "a reply first": round_of(Call("a", "f")),
    "an empty reply": (ASK, AssistantMessage("2", (Text(" "),), "m"), ASK),
    "reasoning alone": (ASK, AssistantMessage("2", (Thinking("hm"),), "m"), ASK),
    "an empty message": (UserMessage("1", " "),),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("talk", TORN.values(), ids=TORN)
def test_a_torn_history_is_mended_in_the_copy_that_is_sent(source: str, talk: tuple[Message, ...]) -> None:
    preset, model = SOURCES[source], model_of(source)
    kept = msgspec.json.encode(talk)
    assert refusal(body_of(preset, Request(model, "Be brief.", talk, TOOLS)), preset) == ""
    assert msgspec.json.encode(talk) == kept


async def test_a_strict_server_answers_a_torn_history(connections: Connections) -> None:
    async def judge(line: Line) -> None:
        problem = refusal(server.asked[-1].json, preset)
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": problem}}
        answer = {"content": [{"type": "text", "text": "fine"}], "stop_reason": "end_turn"}
        body = json.dumps(error if problem else answer).encode()
        await line.reply(400 if problem else 200, body, content_type="application/json")

    async with serving(judge) as server:
        preset = msgspec.structs.replace(PRESETS["anthropic"], base_url=server.url)
        provider = HttpProvider(preset, connections, "sk-1")
        for talk in TORN.values():
            end = (await heard(provider, Request("m", "", talk, stream=False)))[-1]
            assert [part.text for part in end.parts] == ["fine"]  # type: ignore[union-attr]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    body = sent(PRESETS["anthropic"], ASK, AssistantMessage("2", (Call("a", "f"),), "m"))
    (block,) = body[2]["content"]
    assert (block["tool_use_id"], block["is_error"]) == ("a", True)
    assert "interrupted" in block["content"]


SWITCHES: list[tuple[str, str]] = [(one, two) for one in SOURCES for two in SOURCES if one != two]


@pytest.mark.parametrize(("before", "after"), SWITCHES, ids=[f"{one}-{two}" for one, two in SWITCHES])
def test_reasoning_goes_back_to_its_issuer_and_ids_fit_the_new_one(before: str, after: str) -> None:
    old, new = SOURCES[before], SOURCES[after]
    talk = (*reasoning(old), *round_of(Call(LONG, "read"), at="t2"), UserMessage("t3.1", "Go on."))
    there = body_of(new, Request("m", "", talk))
    assert refusal(there, new) == "" or new.issuer == old.issuer
    held = json.dumps(there)
    assert ("c2ln" in held) is (new.issuer == old.issuer)
    back = json.dumps(body_of(old, Request("m", "", talk)))
    assert "c2ln" in back
    assert "c2ln" not in json.dumps(body_of(old, Request("another model", "", talk)))


def test_with_a_budget_the_reasoning_rests_while_replies_of_others_are_at_work() -> None:
    preset = msgspec.structs.replace(PRESETS["anthropic"], thinking=ThinkingBudget(2000))
    foreign = (ASK, *round_of(Call("a", "read"), model="other"))
    bodies: dict[str, Any] = {
        "own loop": body_of(preset, Request("m", "", reasoning(preset))),
        "foreign loop": body_of(preset, Request("m", "", foreign)),
        "next prompt": body_of(preset, Request("m", "", (*foreign, UserMessage("t2.1", "Go on.")))),
    }
    assert {name: "thinking" in body for name, body in bodies.items()} == {
        "own loop": True,
        "foreign loop": False,
        "next prompt": True,
    }
