"""Answers of Anthropic's protocol, beyond the streams of the case data."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.messages import Call, Text, Thinking, Usage
from smith_server.core.ports import Done, Failed, TextDelta, ThinkingDelta
from smith_server.llm.anthropic_stream import AnthropicReader
from smith_server.llm.presets import PRESETS
from tests.llm.streams import begun, ending, more, read_anthropic, sent

START = sent("message_start", message={"usage": {"input_tokens": 9, "cache_creation_input_tokens": 4}})
SIGNED = {"type": "thinking", "thinking": "step one", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "b3Bh"}

LOOP = [
    START,
    begun(0, "thinking", thinking="", signature=""),
    more(0, "thinking", thinking="step "),
    more(0, "thinking", thinking="one"),
    more(0, "signature", signature="c2"),
    more(0, "signature", signature="ln"),
    sent("content_block_stop", index=0),
    begun(1, "redacted_thinking", data="b3Bh"),
    begun(2, "text", text="Let "),
    more(2, "text", text="me."),
    begun(3, "tool_use", id="t1", name="read", input={}),
    begun(4, "tool_use", id="t2", name="list", input={}),
    more(3, "input_json", partial_json='{"a"'),
    more(4, "input_json", partial_json="{}"),
    more(3, "input_json", partial_json=":1}"),
    *ending("tool_use", output_tokens=7),
]
PARTS = (
    Thinking("step one", "anthropic", SIGNED),
    Thinking("", "anthropic", HIDDEN),
    Text("Let me."),
    Call("t1", "read", '{"a":1}'),
    Call("t2", "list", "{}"),
)


def test_reasoning_text_and_calls_keep_their_places_and_bytes() -> None:
    deltas, end = read_anthropic(LOOP)
    assert end == Done(PARTS, "tool_use", Usage(input=9, cache_write=4, output=7))
    assert deltas == [ThinkingDelta("step "), ThinkingDelta("one"), TextDelta("Let "), TextDelta("me.")]


@given(st.lists(st.integers(0, sum(map(len, LOOP))), max_size=6).map(sorted))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    data = b"".join(LOOP)
    chunks = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert read_anthropic(chunks)[1] == read_anthropic(LOOP)[1]


def test_a_whole_answer_gives_what_a_stream_gives() -> None:
    content = [
        SIGNED,
        HIDDEN,
        {"type": "text", "text": "Let me."},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"a": 1}},
        {"type": "tool_use", "id": "t2", "name": "list", "input": {}},
    ]
    usage = {"input_tokens": 9, "cache_creation_input_tokens": 4, "output_tokens": 7}
    body = json.dumps({"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}).encode()
    _, end = read_anthropic([body], content_type="application/json")
    assert end == read_anthropic(LOOP)[1]


def test_blocks_of_a_server_that_opens_all_before_it_closes_any_stay_apart() -> None:
    chunks = [
        begun(0, "text", text=""),
        begun(1, "text", text=""),
        more(0, "text", text="a"),
        more(1, "text", text="b"),
        more(0, "text", text="c"),
        *ending("end_turn"),
    ]
    deltas, end = read_anthropic(chunks)
    assert end.parts == (Text("ac"), Text("b"))
    assert [each.text for each in deltas] == ["a", "b", "c"]  # type: ignore[union-attr]


def test_one_index_for_every_block_is_several_blocks() -> None:
    calls = [begun(0, "tool_use", id=name, name="read", input={"path": name}) for name in ("a", "b")]
    _, end = read_anthropic([*calls, *ending("tool_use")])
    assert end.parts == (Call("a", "read", '{"path":"a"}'), Call("b", "read", '{"path":"b"}'))


def test_blocks_of_other_kinds_are_passed_over() -> None:
    chunks = [
        begun(0, "server_tool_use", id="s", name="web_search", input={}),
        more(0, "input_json", partial_json="{}"),
        begun(1, "web_search_tool_result", content=[]),
        begun(2, "text", text="x"),
        more(2, "citations", citation={}),
        *ending("end_turn"),
    ]
    assert read_anthropic(chunks)[1] == Done((Text("x"),), "stop")


def test_usage_is_told_in_classes_that_do_not_overlap() -> None:
    first = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1}
    chunks = [sent("message_start", message={"usage": first}), *ending("end_turn", output_tokens=8, input_tokens=0)]
    assert read_anthropic(chunks)[1].usage == Usage(input=3, cache_write=20, cache_read=100, output=8)
    assert read_anthropic(ending("end_turn"))[1].usage is None


def test_pings_are_signs_of_life_and_no_data() -> None:
    reader = AnthropicReader(PRESETS["anthropic"])
    reader.feed(sent("ping") * 3 + b": a comment\n\n")
    assert (reader.events, reader.comments) == (0, 4)
    reader.feed(START)
    assert reader.events == 1


REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    " MAX_TOKENS ": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "content_filter",
}


@pytest.mark.parametrize(("reason", "stop"), REASONS.items(), ids=REASONS)
def test_a_reason_is_understood_whatever_its_case(reason: str, stop: str) -> None:
    _, end = read_anthropic([begun(0, "text", text="x"), *ending(reason)])
    assert isinstance(end, Done)
    assert end.stop == stop


def test_nothing_of_a_broken_answer_goes_back_as_reasoning() -> None:
    _, end = read_anthropic(LOOP[:12])
    assert isinstance(end, Failed)
    assert end.parts == (Thinking("step one"), Text("Let me."))


ODD: dict[str, Any] = {
    "a list": [],
    "a text": "x",
    "a number": 7,
    "nothing": None,
    "fields of a wrong type": {"type": 5, "index": "a", "delta": [], "message": 3, "usage": "x"},
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_an_event_that_is_no_object_is_an_error_and_odd_fields_are_none(value: Any) -> None:
    _, end = read_anthropic(
        [f"data: {json.dumps(value)}\n\n".encode(), begun(0, "text", text="x"), *ending("end_turn")]
    )
    if isinstance(value, dict):
        assert isinstance(end, Done)
    else:
        assert isinstance(end, Failed)
        assert end.error.code == "protocol_error"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["text", "tool_use", "thinking", "error", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "index", "delta", "content_block", "message", "usage", "error", "text", "input"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(values, max_size=5), st.booleans())
def test_no_json_whatsoever_breaks_the_reader(found: list[Any], whole: bool) -> None:
    data = [json.dumps(each).encode() for each in found]
    chunks = data[:1] if whole else [b"data: " + each + b"\n\n" for each in data]
    _, end = read_anthropic(chunks, content_type="application/json" if whole else "text/event-stream")
    assert isinstance(end, Done | Failed)
