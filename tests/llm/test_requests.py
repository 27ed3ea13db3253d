"""Requests of every provider as they were kept. `WRITE_GOLDEN=1` writes the kept ones anew."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from smith_server.core.messages import Call, UserMessage
from smith_server.core.ports import Request
from smith_server.llm.dialects import DIALECTS
from tests.llm.talks import ASK, SOURCES, TOOLS, long_talk, model_of, requests, round_of, settled

GOLDEN = Path(__file__).parent.parent / "golden" / "requests"
CASES = [(source, case) for source in SOURCES for case in requests(source)]


@pytest.mark.parametrize(("source", "case"), CASES, ids=["-".join(each) for each in CASES])
def test_a_request_is_written_as_kept(source: str, case: str) -> None:
    preset = settled(source, case)
    body = DIALECTS[preset.dialect].encoder(preset).body(requests(source)[case])
    kept = GOLDEN / f"{source}-{case}.json"
    if os.environ.get("WRITE_GOLDEN"):
        kept.write_text(json.dumps(json.loads(body), indent=2) + "\n", encoding="utf-8")
    assert json.loads(body) == json.loads(kept.read_text(encoding="utf-8"))
    assert len(body) == len(msgspec.json.encode(json.loads(body)))


def test_no_request_is_kept_that_is_not_written() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {"-".join(each) for each in CASES}


@pytest.mark.parametrize("source", SOURCES)
def test_a_request_begins_with_the_one_before_it_but_for_the_marks(source: str) -> None:
    preset, model = SOURCES[source], model_of(source)
    encoder = DIALECTS[preset.dialect].encoder(preset)
    talk, last = long_talk(model), []
    for end in (1, 3, 5, 7, 9):
        body = encoder.body(Request(model, "Be brief.", talk[:end], TOOLS))
        plain = json.loads(body.replace(b',"cache_control":{"type":"ephemeral"}', b""))["messages"]
        assert plain[: len(last)] == last
        assert len(plain) > len(last)
        last = plain


class Watched(dict[str, object]):
    """Counts how often it is looked into."""

    looks = 0

    def get(self, *args: object) -> object:  # type: ignore[override]
        self.looks += 1
        return super().get(*args)  # type: ignore[call-overload]


@pytest.mark.parametrize("source", SOURCES)
def test_a_message_is_encoded_once(source: str) -> None:
    preset, model = SOURCES[source], model_of(source)
    extra = Watched(issuer="somebody")
    talk = (ASK, *round_of(Call("a", "f", "{}", extra), model=model))
    encoder = DIALECTS[preset.dialect].encoder(preset)
    first = encoder.body(Request(model, "", talk))
    looks = extra.looks
    for number in range(3):
        talk = (*talk, UserMessage(f"u{number}", "more"))
        encoder.body(Request(model, "", talk))
    assert looks > 0
    assert extra.looks == looks
    assert encoder.body(Request(model, "", talk[:3])) == first


@pytest.mark.parametrize("source", SOURCES)
def test_messages_of_finished_conversations_are_forgotten(source: str) -> None:
    preset, model = SOURCES[source], model_of(source)
    encoder = DIALECTS[preset.dialect].encoder(preset)
    extra = Watched(issuer="somebody")
    old = (ASK, *round_of(Call("a", "f", "{}", extra), model=model))
    encoder.body(Request(model, "", old))
    looks = extra.looks
    for _ in range(12):
        encoder.body(Request(model, "", (UserMessage("big", "x" * 1000),)))
    encoder.body(Request(model, "", old))
    assert extra.looks == 2 * looks
