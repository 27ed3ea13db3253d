import math
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smith_server.core.errors import AgentFailure
from smith_server.core.messages import AssistantMessage, Call, Image, Message, Text, Thinking, ToolMessage, UserMessage
from smith_server.store import codec

texts = st.text(st.characters())
numbers = st.integers() | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(texts, values, max_size=3)
parts = st.one_of(
    st.builds(Text, texts),
    st.builds(Thinking, texts, texts, tables),
    st.builds(Call, texts, texts, texts, tables),
)
messages = st.one_of(
    st.builds(
        UserMessage,
        texts,
        texts,
        texts,
        st.lists(st.builds(Image, texts, st.binary()), max_size=2).map(tuple),
        st.booleans(),
    ),
    st.builds(
        AssistantMessage, texts, st.lists(parts, max_size=4).map(tuple), texts, st.sampled_from(["stop", "error"])
    ),
    st.builds(ToolMessage, texts, texts, texts, texts, st.booleans(), texts, texts),
)


def shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(messages)
def test_every_message_comes_back_equal(message: Message) -> None:
    assert codec.decode_message(codec.encode(message)) == message


BEFORE: dict[str, tuple[dict[str, Any], Message]] = {
    "a prompt": ({"type": "user", "id": "t000001.0001", "text": "hi"}, UserMessage("t000001.0001", "hi")),
    "reasoning without a signature": (
        {"type": "assistant", "id": "a", "parts": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "x"}]},
        AssistantMessage("a", (Thinking("hm"), Text("x"))),
    ),
    "a result": (
        {"type": "tool", "id": "t", "call_id": "c", "name": "read", "content": "x"},
        ToolMessage("t", "c", "read", "x"),
    ),
}


@pytest.mark.parametrize(("record", "message"), BEFORE.values(), ids=BEFORE)
def test_a_record_of_before_still_loads(record: dict[str, Any], message: Message) -> None:
    assert codec.decode_message(msgpack.packb(record)) == message


def test_a_signature_is_kept_byte_for_byte() -> None:
    block = {"type": "thinking", "thinking": "a\u2028b\n", "signature": "c2ln+/=="}
    hidden = {"type": "redacted_thinking", "data": "b3Bh/+=="}
    parts = (Thinking("a\u2028b\n", "anthropic", block), Thinking("", "anthropic", hidden), Text("x"))
    message = AssistantMessage("t000001.0002", parts, "m")
    assert codec.decode_message(codec.encode(message)) == message


@given(tables)
def test_equal_tables_give_equal_bytes_whatever_their_order(table: dict[str, Any]) -> None:
    assert codec.encode(shuffled(table)) == codec.encode(table)


@given(tables)
def test_a_second_round_gives_the_same_bytes(table: dict[str, Any]) -> None:
    data = codec.encode(table)
    assert codec.encode(codec.decode(data, dict[str, Any])) == data


@given(texts)
def test_any_text_fits_a_column_and_comes_back(text: str) -> None:
    assert codec.text_out(codec.text_in(text)) == text


@given(st.binary(max_size=60))
def test_foreign_bytes_are_undecodable_and_nothing_else_happens(data: bytes) -> None:
    with pytest.raises(AgentFailure) as raised:
        codec.decode_message(data)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "undecodable")


def test_bytes_are_sorted_msgpack() -> None:
    data = codec.encode(ToolMessage("t000001.0001", "c", "bash", "out", ok=False))
    told = msgpack.unpackb(data)
    assert list(told.items()) == [
        ("call_id", "c"),
        ("content", "out"),
        ("id", "t000001.0001"),
        ("name", "bash"),
        ("ok", False),
        ("type", "tool"),
    ]


@pytest.mark.parametrize(
    "number", [2**63, 2**64, -(2**63) - 1, 10**40, -(10**40)], ids=["2^63", "2^64", "below", "1e40", "-1e40"]
)
def test_whole_numbers_of_any_size_are_kept(number: int) -> None:
    assert codec.decode(codec.encode({"n": number}), dict[str, Any]) == {"n": number}


@pytest.mark.parametrize("number", [math.inf, -math.inf, 5e-324, 0.1], ids=str)
def test_odd_fractions_are_kept(number: float) -> None:
    assert codec.decode(codec.encode({"n": number}), dict[str, Any]) == {"n": number}


@pytest.mark.parametrize(
    "record",
    [UserMessage("t000001.0001", 5), ToolMessage("a", "b", "c", "d", ok="yes"), {"x": object()}],  # type: ignore[arg-type]
    ids=["number for text", "text for truth", "no data"],
)
def test_a_record_with_a_wrong_type_is_refused_before_it_is_stored(record: Any) -> None:
    with pytest.raises(AgentFailure) as raised:
        codec.encode(record)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_record")


def test_a_record_that_nests_without_end_is_refused() -> None:
    table: dict[str, Any] = {}
    table["self"] = table
    with pytest.raises(AgentFailure) as raised:
        codec.encode(table)
    assert raised.value.error.code == "invalid_record"


@pytest.mark.parametrize(
    ("message", "kind"),
    [(UserMessage("a", "b"), "user"), (AssistantMessage("a"), "assistant"), (ToolMessage("a", "b", "c", "d"), "tool")],
    ids=["user", "assistant", "tool"],
)
def test_the_kind_of_a_message_is_its_tag(message: Message, kind: str) -> None:
    assert codec.kind_of(message) == kind == msgpack.unpackb(codec.encode(message))["type"]


@given(tables)
def test_a_table_as_json_has_one_spelling_and_comes_back(table: dict[str, Any]) -> None:
    finite = {key: value for key, value in table.items() if "inf" not in repr(value)}
    text = codec.encode_json(finite)
    assert codec.encode_json(shuffled(finite)) == text
    assert text.isascii() and codec.decode_json(text) == finite


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, object(), b"bytes", {1j}], ids=["nan", "inf", "object", "bytes", "set"]
)
def test_what_json_cannot_hold_is_refused_before_it_is_stored(value: object) -> None:
    with pytest.raises(AgentFailure) as raised:
        codec.encode_json({"x": value})
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_record")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"a": }', "[" * 100_000])
def test_text_that_holds_no_table_is_undecodable(text: str) -> None:
    with pytest.raises(AgentFailure) as raised:
        codec.decode_json(text)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "undecodable")
