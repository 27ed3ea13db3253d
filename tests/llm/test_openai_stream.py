"""What the case data does not say about reading an OpenAI answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smith_server.core.messages import Call, Text, Thinking, Usage
from smith_server.core.ports import Done, Failed, TextDelta, ThinkingDelta
from smith_server.llm.openai_stream import OpenAIReader
from smith_server.llm.presets import Preset
from smith_server.llm.reading import MOST_PENDING
from tests.llm.streams import DONE, calling, event, read, text

CASES = Path(__file__).parent.parent / "cases" / "sse_streams.jsonl"
STREAMS = [
    b"".join(chunk.encode("latin-1") for chunk in case["input"]["chunks_latin1"])
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    if case["input"]["shape"] == "openai" and "content_encoding" not in case["input"]
]
PIECE = b"x" * (1 << 20)
NAMED = {"stream_truncated", "stall_timeout", "protocol_error", "provider_error", "rate_limited", "bad_request"}


@pytest.mark.parametrize("end", ["eof", "reset", "stall"])
def test_a_stream_cut_anywhere_is_complete_or_a_named_error_and_runs_nothing_half(end: str) -> None:
    for number, stream in enumerate(STREAMS):
        for cut in range(number % 5, len(stream), 5):
            _, last = read([stream[:cut]], end=end)
            if isinstance(last, Failed):
                assert last.error.code in NAMED
                assert not any(isinstance(part, Call) for part in last.parts)
            else:
                assert b"finish_reason" in stream[:cut] or b"[DONE]" in stream[:cut]


def test_the_texts_of_one_read_are_one_delta() -> None:
    deltas, last = read([text("a") + text("b"), text("c") + text("d") + event(reason="stop")])
    assert deltas == [TextDelta("ab"), TextDelta("cd")]
    assert last == Done((Text("abcd"),), "stop")


def test_thinking_and_text_of_one_read_keep_their_order() -> None:
    read_at_once = event({"reasoning": "h"}) + event({"reasoning": "m"}) + text("a") + event({"reasoning": "?"}) + DONE
    deltas, last = read([read_at_once])
    assert deltas == [ThinkingDelta("hm"), TextDelta("a"), ThinkingDelta("?")]
    assert [type(part) for part in last.parts] == [Thinking, Text, Thinking]


def test_parts_stand_in_the_order_in_which_they_came() -> None:
    _, last = read([text("a"), calling(index=0, id="x", name="f", arguments="{}"), text("b"), event(reason="stop")])
    assert last.parts == (Text("a"), Call("x", "f", "{}"), Text("b"))


def test_usage_is_told_in_classes_that_do_not_overlap() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    _, last = read([event(reason="stop", usage=usage)])
    assert last.usage == Usage(input=40, cache_read=60, output=7)


USAGES: dict[str, tuple[dict[str, Any], Usage | None]] = {
    "cache hits by another name": ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(input=5, cache_read=4)),
    "more cached than read": (
        {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
        Usage(input=0, cache_read=8),
    ),
    "rubbish": (
        {"prompt_tokens": "many", "completion_tokens": -4, "prompt_tokens_details": 3},
        Usage(),
    ),
    "floats": ({"prompt_tokens": 3.0, "completion_tokens": 1e300}, Usage(input=3)),
    "nothing counted": ({"total": 3}, None),
}


@pytest.mark.parametrize(("usage", "expected"), USAGES.values(), ids=USAGES)
def test_odd_usage_is_read_as_far_as_it_goes(usage: dict[str, Any], expected: Usage | None) -> None:
    _, last = read([event(reason="stop", usage=usage)])
    assert last.usage == expected


def test_usage_beside_the_choice_counts_too() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 2}}
    _, last = read([b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"])
    assert last.usage == Usage(input=2)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_for_its_maker_under_the_name_it_came_with(field: str) -> None:
    _, last = read([event({field: "h"}), event({field: "m"}), text("a"), DONE])
    assert last.parts == (Thinking("hm", "custom@maker.test", {field: "hm"}), Text("a"))


def test_reasoning_in_both_spellings_is_read_once_and_blanks_in_it_survive() -> None:
    both = [{"reasoning_content": piece, "reasoning": piece} for piece in ("a", " ", "b")]
    _, last = read([*map(event, both), event({"reasoning_content": " "}), event({"reasoning_content": "c"}), DONE])
    assert "".join(part.text for part in last.parts if isinstance(part, Thinking)) == "a b c"


def test_fragments_of_reasoning_details_are_put_together() -> None:
    details: list[Any] = [
        {"type": "reasoning.text", "text": "he", "index": 0, "format": "f", "signature": None},
        {"type": "reasoning.text", "text": "llo", "index": 0, "signature": "s"},
        {"type": "reasoning.text", "text": "next", "index": 1},
        {"type": "reasoning.encrypted", "data": "AA", "index": 1},
        {"type": "reasoning.encrypted", "data": "BB", "index": 1},
        "odd",
    ]
    _, last = read([event({"reasoning": "x", "reasoning_details": [each]}) for each in details] + [DONE])
    (part,) = last.parts
    assert isinstance(part, Thinking)
    assert part.replay == {
        "reasoning": "xxxxxx",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "hello", "index": 0, "format": "f", "signature": "s"},
            details[2],
            *details[3:],
        ],
    }


def test_details_without_a_word_are_kept_and_shown_as_nothing() -> None:
    deltas, last = read([event({"reasoning_details": [{"type": "reasoning.encrypted", "data": "A"}]}), text("a"), DONE])
    assert deltas == [TextDelta("a")]
    assert last.parts[0] == Thinking(
        "", "custom@maker.test", {"reasoning_details": [{"type": "reasoning.encrypted", "data": "A"}]}
    )


def test_nothing_of_a_broken_answer_goes_back_as_reasoning() -> None:
    _, last = read([event({"reasoning_content": "hm"}), text("a"), calling(index=0, id="x", name="f", arguments="{}")])
    assert isinstance(last, Failed)
    assert last.parts == (Thinking("hm"), Text("a"))


OUTPUTS: dict[str, tuple[list[bytes], str]] = {
    "nothing": ([event({"role": "assistant", "content": ""})], "none"),
    "thinking": ([event({"reasoning": "hm"})], "thinking"),
    "text": ([event({"reasoning": "hm"}), text("a")], "text"),
    "a piece of a call": ([text("a"), calling(index=0, id="x")], "call"),
}


@pytest.mark.parametrize(("chunks", "output"), OUTPUTS.values(), ids=OUTPUTS)
def test_a_failure_says_what_had_been_given_out(chunks: list[bytes], output: str) -> None:
    _, last = read(chunks, end="reset")
    assert isinstance(last, Failed)
    assert last.error.data["output"] == output
    assert last.error.retryable is (output == "none")


def test_a_character_whose_halves_come_apart_is_whole_again() -> None:
    halves = [
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\ude42b"}}]}\n\n',
    ]
    deltas, last = read([*halves, DONE])
    assert deltas == [TextDelta("a"), TextDelta("\U0001f642b")]
    assert last.parts == (Text("a\U0001f642b"),)


def test_half_a_character_alone_becomes_a_replacement() -> None:
    deltas, last = read([b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n', DONE])
    assert deltas == [TextDelta("a"), TextDelta("\ufffd")]
    assert last.parts == (Text("a\ufffd"),)


def test_control_characters_and_separators_inside_the_json_are_text() -> None:
    odd = "a\u2028\u2029\x85\x0b\x0c\x1c\U0001f642漢"
    _, last = read([b'data: {"choices":[{"delta":{"content":"' + odd.encode() + b'"}}]}\n\n', DONE])
    assert last.parts == (Text(odd),)


def test_not_a_number_in_a_field_that_nobody_reads_does_no_harm() -> None:
    _, last = read([b'data: {"choices":[{"delta":{"content":"a"},"logprobs":{"x":-Infinity}}]}\n\n', DONE])
    assert last.parts == (Text("a"),)


def test_fields_of_a_wrong_type_are_left_out() -> None:
    odd = {"index": 0, "delta": {"content": 5, "reasoning": ["x"], "tool_calls": {"a": 1}}, "finish_reason": 0}
    more = {"index": 0, "delta": {"content": "a", "tool_calls": [None, {"index": "0", "function": 3}]}}
    chunks = [
        b"data: " + json.dumps({"choices": [None, choice], "usage": []}).encode() + b"\n\n" for choice in (odd, more)
    ]
    _, last = read([*chunks, DONE])
    assert last.parts == (Text("a"),)


def test_content_may_be_a_list_of_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "a"},
        {"type": "image", "text": "not this"},
        7,
    ]
    deltas, _ = read([event({"content": parts}), DONE])
    assert deltas == [ThinkingDelta("hm"), TextDelta("a")]


def test_a_refusal_is_text() -> None:
    deltas, last = read([event({"refusal": "I will not."}), event(reason="stop")])
    assert deltas == [TextDelta("I will not.")]
    assert last == Done((Text("I will not."),), "stop")


REASONS = {
    "STOP ": "stop",
    "eos": "stop",
    " Length": "max_tokens",
    "model_length": "max_tokens",
    "content_filter: violence": "content_filter",
    "SAFETY": "content_filter",
}


@pytest.mark.parametrize(("reason", "stop"), REASONS.items())
def test_a_reason_is_understood_whatever_its_case(reason: str, stop: str) -> None:
    _, last = read([text("a"), event(reason=reason)])
    assert last == Done((Text("a"),), stop)


FAILING = {"network_error": "provider_error", "abort": "provider_error", "insufficient_system_resource": "overloaded"}


@pytest.mark.parametrize(("reason", "code"), FAILING.items())
def test_a_reason_may_be_an_error(reason: str, code: str) -> None:
    _, last = read([text("a"), event(reason=reason), DONE])
    assert isinstance(last, Failed)
    assert (last.error.code, last.parts) == (code, (Text("a"),))


def test_an_error_after_a_reason_that_is_one_says_more() -> None:
    _, last = read([event(reason="error"), b'data: {"error": {"code": 429}}\n\n'])
    assert isinstance(last, Failed)
    assert last.error.code == "rate_limited"


def test_an_error_beside_the_choice_is_an_error() -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "error": {"code": 502, "message": "gone"}}
    _, last = read([text("a"), b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"])
    assert isinstance(last, Failed)
    assert (last.error.code, last.parts) == ("provider_error", (Text("a"),))


@pytest.mark.parametrize("value", [None, False, ""])
def test_an_empty_error_is_none(value: Any) -> None:
    _, last = read([event({"content": "a"}, error=value), DONE])
    assert last == Done((Text("a"),), "stop")


@pytest.mark.parametrize("data", [b"5", b"null", b"[1]", b'"x"', b"{oops}", b"[" * 100_000])
def test_an_event_that_is_no_object_ends_the_answer(data: bytes) -> None:
    _, last = read([text("a"), b"data: " + data + b"\n\n", text("b"), DONE])
    assert isinstance(last, Failed)
    assert (last.error.kind, last.error.code, last.error.retryable) == ("protocol", "protocol_error", False)
    assert last.parts == (Text("a"),)


ANSWER = {
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "hm",
                "content": "Hi",
                "tool_calls": [
                    {"id": "same", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    {"id": "same", "type": "function", "function": {"name": "g", "arguments": {"p": 1}}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1},
}


@pytest.mark.parametrize("size", [1, 5, 10_000])
@pytest.mark.parametrize("content_type", ["", "application/json; charset=utf-8"])
def test_a_whole_answer_gives_what_a_stream_gives(size: int, content_type: str) -> None:
    body = b"\xef\xbb\xbf \n" + json.dumps(ANSWER).encode()
    deltas, last = read([body[at : at + size] for at in range(0, len(body), size)], content_type=content_type)
    assert deltas == [ThinkingDelta("hm"), TextDelta("Hi")]
    assert isinstance(last, Done)
    thinking, words, first, second = last.parts
    assert isinstance(second, Call)
    assert (thinking, words) == (Thinking("hm", "custom@maker.test", {"reasoning_content": "hm"}), Text("Hi"))
    assert first == Call("same", "f", "{}")
    assert (second.name, second.arguments, second.id != "same") == ("g", '{"p":1}', True)
    assert (last.stop, last.usage) == ("tool_use", Usage(input=3, output=1))


WHOLE: dict[str, tuple[bytes, str]] = {
    "half of it": (json.dumps(ANSWER).encode()[:-4], "stream_truncated"),
    "an error": (b'{"error": {"type": "overloaded_error"}}', "overloaded"),
    "a list with an error": (b'[{"error": {"code": 401}}]', "auth"),
    "a list": (b"[1]", "protocol_error"),
    "something else": (b'{"status": "ok"}', "stream_truncated"),
}


@pytest.mark.parametrize(("body", "code"), WHOLE.values(), ids=WHOLE)
def test_a_whole_body_that_is_no_answer_is_an_error(body: bytes, code: str) -> None:
    _, last = read([body], content_type="application/json")
    assert isinstance(last, Failed)
    assert last.error.code == code


def test_a_stream_that_calls_itself_json_is_read_as_a_stream() -> None:
    deltas, _ = read([text("a"), DONE], content_type="application/json")
    assert deltas == [TextDelta("a")]


def test_a_web_page_is_named_as_such() -> None:
    _, last = read([b"<html>Welcome</html>"], content_type="text/html; charset=utf-8")
    assert isinstance(last, Failed)
    assert last.error.code == "stream_truncated"
    assert "web page" in last.error.message


def test_a_whole_message_inside_a_stream_is_not_read_again() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "b"}, "message": {"content": "ab"}}]}
    deltas, _ = read([text("a"), b"data: " + json.dumps(chunk).encode() + b"\n\n", DONE])
    assert deltas == [TextDelta("a"), TextDelta("b")]


@pytest.mark.parametrize("start", [b"data: ", b'{"a": "'], ids=["an event", "a whole answer"])
def test_an_endless_body_is_given_up(start: bytes) -> None:
    reader = OpenAIReader(Preset("custom"))
    reader.feed(start)
    fed = 0
    while not reader.finished:
        fed += len(PIECE)
        reader.feed(PIECE)
    (last,) = reader.end()
    assert isinstance(last, Failed)
    assert last.error.code == "protocol_error"
    assert MOST_PENDING <= fed <= MOST_PENDING + len(PIECE)


WORDS = ["choices", "index", "delta", "message", "content", "reasoning", "tool_calls", "function", "name", "arguments"]
WORDS += [
    "id",
    "error",
    "code",
    "type",
    "usage",
    "prompt_tokens",
    "finish_reason",
    "stop",
    "length",
    "text",
    "thinking",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=8,
)
CHOICES = st.fixed_dictionaries({"choices": st.lists(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4))})


@settings(max_examples=60, deadline=None)
@given(values=st.lists(VALUES | CHOICES, max_size=4), whole=st.booleans())
def test_no_json_whatsoever_breaks_the_reader(values: list[Any], whole: bool) -> None:
    written = [json.dumps(value).encode() for value in values]
    _, last = read([b"".join(written)] if whole else [b"data: " + each + b"\n\n" for each in written])
    assert isinstance(last, Done | Failed)
