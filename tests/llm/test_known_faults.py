"""What other clients of these protocols got wrong, each as a test of ours."""

import json
from typing import Any

import msgspec
import pytest

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import Call, Image, Text, Thinking, Usage, UserMessage
from smith_server.core.ports import Done, Failed, Request
from smith_server.llm.presets import PRESETS, ThinkingBudget, ThinkingEffort
from smith_server.llm.retry import Retries, RetryRules
from tests.llm.streams import DONE, begun, calling, ending, event, more, read, read_anthropic, sent, text
from tests.llm.talks import ASK, SOURCES, TOOLS, body_of, long_talk, reasoning

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": '}}


def calls_in(end: Done | Failed) -> list[Call]:
    return [part for part in end.parts if isinstance(part, Call)]


def test_malformed_arguments_are_kept_for_the_model_to_hear_of_whole_or_streamed() -> None:
    whole = json.dumps({"choices": [{"message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}).encode()
    _, first = read([whole], content_type="application/json")
    _, second = read([calling(index=0, id="c1", name="read", arguments='{"path": '), event(reason="tool_calls"), DONE])
    assert calls_in(first) == calls_in(second) == [Call("c1", "read", '{"path": ')]


def test_a_whole_answer_with_a_call_without_id_is_no_failure() -> None:
    unnamed = {**CALL, "id": None}
    whole = json.dumps({"choices": [{"message": {"tool_calls": [unnamed]}, "finish_reason": "tool_calls"}]}).encode()
    (call,) = calls_in(read([whole], content_type="application/json")[1])
    assert call.id


def test_without_an_effort_none_is_sent() -> None:
    for source in SOURCES.values():
        body = body_of(source, Request("m", "", (ASK,)))
        assert not {"reasoning_effort", "reasoning", "thinking", "output_config"} & set(body)


def test_cached_tokens_and_reasoning_of_the_openai_shape_are_read() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 5}
    details = {**usage, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10}}
    deep = {**usage, "prompt_cache_hit_tokens": 60}
    for given, expected in ((details, Usage(20, 10, 60, 5)), (deep, Usage(30, 0, 60, 5))):
        _, end = read([event({"reasoning": "hm"}), text("x"), event(reason="stop", usage=given), DONE])
        assert (end.usage, isinstance(end.parts[0], Thinking)) == (expected, True)


BROKEN: dict[str, tuple[Any, list[bytes]]] = {
    "openai error": (read, [text("half"), b'data: {"error": {"message": "no", "code": 502}}\n\n']),
    "openai cut": (read, [text("half")]),
    "openai cut call": (read, [text("half"), calling(index=0, id="c1", name="write", arguments='{"path": "x", "con')]),
    "anthropic error": (
        read_anthropic,
        [begun(0, "text", text="half"), sent("error", error={"type": "overloaded_error", "message": "busy"})],
    ),
    "anthropic cut": (read_anthropic, [begun(0, "text", text="half")]),
    "anthropic cut call": (
        read_anthropic,
        [
            begun(0, "text", text="half"),
            begun(1, "tool_use", id="t", name="write", input={}),
            more(1, "input_json", partial_json='{"path": "x", "con'),
        ],
    ),
}


@pytest.mark.parametrize(("reader", "chunks"), BROKEN.values(), ids=BROKEN)
def test_what_broke_off_is_an_error_that_keeps_its_text_and_runs_nothing(reader: Any, chunks: list[bytes]) -> None:
    _, end = reader(chunks)
    assert isinstance(end, Failed)
    assert (end.parts, end.error.retryable) == ((Text("half"),), False)


def test_blank_ids_and_names_in_later_fragments_take_nothing_away() -> None:
    chunks = [
        calling(index=0, id="c1", name="read", arguments=""),
        calling(index=0, id="", name="", arguments='{"path":'),
        calling(index=0, id="", name="", arguments='"a"}'),
    ]
    assert calls_in(read([*chunks, event(reason="tool_calls"), DONE])[1]) == [Call("c1", "read", '{"path":"a"}')]


def test_calls_without_an_index_stay_apart() -> None:
    chunks = [calling(id=name, name="read", arguments=f'{{"path":"{name}"}}') for name in ("a", "b")]
    found = calls_in(read([*chunks, event(reason="tool_calls"), DONE])[1])
    assert [(call.id, json.loads(call.arguments)["path"]) for call in found] == [("a", "a"), ("b", "b")]


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_made_up_and_repeated_ids_are_unique_in_a_whole_transcript(shape: str) -> None:
    taken = {"call_0"}
    for _ in range(3):
        if shape == "openai":
            nameless = calling(index=1, name="list", arguments="{}")
            chunks = [calling(index=0, id="call_0", name="read"), nameless, event(reason="tool_calls"), DONE]
            _, end = read(chunks, taken=taken)
        else:
            blocks = [begun(at, "tool_use", id=name, name="read", input={}) for at, name in enumerate(["call_0", ""])]
            _, end = read_anthropic([*blocks, *ending("tool_use")], taken=taken)
        ids = {call.id for call in calls_in(end)}
        assert len(ids) == 2
        assert not ids & taken
        taken |= ids


def test_several_data_lines_are_one_event() -> None:
    _, end = read([b'data: {"choices": [{"delta":\ndata: {"content": "x"}}]}\n\n', event(reason="stop"), DONE])
    assert end.parts == (Text("x"),)


def test_hidden_reasoning_of_a_stream_goes_back_as_it_came() -> None:
    _, end = read_anthropic(
        [begun(0, "redacted_thinking", data="b3Bh/+=="), begun(1, "text", text="x"), *ending("end_turn")]
    )
    assert end.parts[0] == Thinking("", "anthropic", {"type": "redacted_thinking", "data": "b3Bh/+=="})


def test_a_relay_is_told_what_to_keep_for_the_models_that_need_it() -> None:
    def marks(model: str, cache: bool = True) -> int:
        preset = msgspec.structs.replace(PRESETS["openrouter"], cache=cache)
        body = body_of(preset, Request(model, "Be brief.", long_talk(model), TOOLS))
        return json.dumps(body).count('"cache_control"')

    assert (marks("anthropic/claude-sonnet-5"), marks("qwen/qwen3.8-max")) == (3, 0)
    assert marks("anthropic/claude-sonnet-5", cache=False) == 0


def test_marks_can_be_switched_off_and_the_prompt_is_plain_then() -> None:
    preset = msgspec.structs.replace(PRESETS["anthropic"], cache=False)
    body = body_of(preset, Request("m", "Be brief.", long_talk("m"), TOOLS))
    assert body["system"] == "Be brief."
    assert '"cache_control"' not in json.dumps(body)


def test_a_budget_has_room_beside_it_and_one_without_room_is_refused_with_what_to_do() -> None:
    preset = msgspec.structs.replace(PRESETS["anthropic"], thinking=ThinkingBudget(10_000))
    body = body_of(preset, Request("m", "", (ASK,), (), None, 0.5))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    assert body["max_tokens"] > 10_000
    assert not {"output_config", "temperature"} & set(body)
    assert body_of(preset, Request("m", "", (ASK,), (), 20_000))["max_tokens"] == 20_000
    with pytest.raises(AgentFailure) as refused:
        body_of(preset, Request("m", "", (ASK,), (), 10_000))
    assert refused.value.error.code == "thinking_budget"
    assert "max_output_tokens" in refused.value.error.message


def test_an_effort_asks_for_reasoning_that_can_be_read() -> None:
    preset = msgspec.structs.replace(PRESETS["anthropic"], thinking=ThinkingEffort("high"))
    body = body_of(preset, Request("m", "", reasoning(preset)))
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "high"}


def test_the_output_limit_of_an_answer_can_be_set() -> None:
    assert body_of(PRESETS["anthropic"], Request("m", "", (ASK,)))["max_tokens"] > 4096
    assert body_of(PRESETS["anthropic"], Request("m", "", (ASK,), (), 64_000))["max_tokens"] == 64_000


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_stream_that_died_after_reasoning_is_repeated_and_what_was_shown_is_void(shape: str) -> None:
    if shape == "openai":
        _, end = read([event({"reasoning_content": "hm"})])
    else:
        _, end = read_anthropic([begun(0, "thinking", thinking="hm")])
    again = Retries(RetryRules()).after(end)
    assert again is not None
    assert again.discard_output


FILTERS: dict[str, tuple[Any, tuple[bytes, ...]]] = {
    "openai": (read, (text("so "), event(reason="content_filter"), DONE)),
    "openai refusal": (read, (event({"refusal": "so "}), event(reason="content_filter"), DONE)),
    "anthropic": (read_anthropic, (begun(0, "text", text="so "), *ending("refusal"))),
}


@pytest.mark.parametrize(("reader", "chunks"), FILTERS.values(), ids=FILTERS)
def test_a_filter_and_a_refusal_are_told_apart_from_an_end(reader: Any, chunks: tuple[bytes, ...]) -> None:
    _, end = reader(chunks)
    assert (end.stop, end.parts) == ("content_filter", (Text("so "),))


@pytest.mark.parametrize("source", ["openai", "anthropic"])
def test_a_picture_goes_to_a_model_that_takes_pictures_and_is_named_to_another(source: str) -> None:
    picture = UserMessage("t1.1", "What is this?", images=(Image("image/png", b"\x89PNG"),))
    seeing, blind = (
        json.dumps(body_of(SOURCES[source], Request("m", "", (picture,), images=takes))) for takes in (True, False)
    )
    assert "iVBORw==" in seeing
    assert "iVBORw==" not in blind
    assert "image/png" in blind
