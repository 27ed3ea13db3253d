"""Calls and their fragments in an OpenAI answer."""

import pytest

from smith_server.core.messages import AssistantMessage, Call, ToolMessage
from smith_server.core.ports import Request
from smith_server.llm.openai_request import OpenAIEncoder
from smith_server.llm.presets import PRESETS
from tests.llm.streams import DONE, calling, event, read


def test_ids_of_the_transcript_are_not_given_again() -> None:
    encoder = OpenAIEncoder(PRESETS["custom"])
    calls = (Call("call_0", "f"), Call("call_1", "f"))
    results = (ToolMessage(f"r{call.id}", call.id, "f", "") for call in calls)
    request = Request("m", "", (AssistantMessage("t1", calls), *results))
    encoder.body(request)
    chunks = [
        calling(index=0, id="call_0", name="f", arguments="{}"),
        calling(index=1, id="mine", name="g", arguments="{}"),
        calling(index=2, name="h", arguments="{}"),
        event(reason="tool_calls"),
    ]
    _, last = read(chunks, taken=encoder.call_ids(request))
    ids = [part.id for part in last.parts if isinstance(part, Call)]
    assert ids[1] == "mine"
    assert len({*ids, "call_0", "call_1"}) == 5
    assert all(made.isalnum() and len(made) == 9 for made in (ids[0], ids[2]))


def test_arguments_that_are_no_object_stay_as_they_came() -> None:
    broken = ['{"path": ', "[1]", '"\\"text\\""', "null and void"]
    chunks = [calling(index=at, id=f"x{at}", name="f", arguments=each) for at, each in enumerate(broken)]
    _, last = read([*chunks, DONE])
    assert [part.arguments for part in last.parts if isinstance(part, Call)] == broken


def test_arguments_are_read_as_far_as_they_hold_an_object() -> None:
    given = ['{"a": 1}', '"{\\"a\\": 1}"', "", "  ", None, {"a": 1}]
    chunks = [calling(index=at, id=f"x{at}", name="f", arguments=each) for at, each in enumerate(given)]
    _, last = read([*chunks, DONE])
    found = [part.arguments for part in last.parts if isinstance(part, Call)]
    assert found == ['{"a": 1}', '{"a": 1}', "{}", "{}", "{}", '{"a":1}']


FRAGMENTS: dict[str, tuple[list[bytes], list[tuple[str, str, str]]]] = {
    "id after the first fragment": (
        [calling(index=0, name="f"), calling(index=0, id="a", name="f", arguments="{}")],
        [("a", "f", "{}")],
    ),
    "name after the first fragment": (
        [calling(index=0, id="a", arguments=""), calling(index=0, name="f", arguments="{}")],
        [("a", "f", "{}")],
    ),
    "a new id in every fragment, no index": (
        [calling(id="a", name="f", arguments='{"p"'), calling(id="b", arguments=":1}")],
        [("a", "f", '{"p":1}')],
    ),
    "another id and name where the first call has no arguments yet": (
        [calling(index=0, id="a", name="f"), calling(index=0, id="b", name="g", arguments="{}")],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "a known id on another index": (
        [calling(index=0, id="a", name="f", arguments='{"p"'), calling(index=3, id="a", arguments=":1}")],
        [("a", "f", '{"p":1}')],
    ),
    "a call that never got a name": (
        [calling(index=0, id="a", arguments="{}"), calling(index=1, id="b", name="f", arguments="{}")],
        [("b", "f", "{}")],
    ),
    "the old form": (
        [
            event({"function_call": {"name": "f", "arguments": ""}}),
            event({"function_call": {"arguments": '{"p":'}}),
            event({"function_call": {"arguments": "1}"}}),
        ],
        [("*", "f", '{"p":1}')],
    ),
    "a name with blank arguments on a complete call": (
        [calling(index=0, name="f", arguments="{}"), calling(index=0, name="f", arguments=" ")],
        [("*", "f", "{} ")],
    ),
}


@pytest.mark.parametrize(("chunks", "calls"), FRAGMENTS.values(), ids=FRAGMENTS)
def test_fragments_find_their_call(chunks: list[bytes], calls: list[tuple[str, str, str]]) -> None:
    _, last = read([*chunks, event(reason="tool_calls")])
    found = [(part.id, part.name, part.arguments) for part in last.parts if isinstance(part, Call)]
    assert [
        (wanted[0] if wanted[0] == "*" else got[0], *got[1:]) for got, wanted in zip(found, calls, strict=True)
    ] == calls


def test_opaque_data_of_a_call_is_kept_with_its_issuer() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    _, last = read([calling(index=0, id="a", name="f", arguments="{}", extra_content=extra), DONE])
    assert last.parts == (Call("a", "f", "{}", {"extra_content": extra, "issuer": "custom@maker.test"}),)
