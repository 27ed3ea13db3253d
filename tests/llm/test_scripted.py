"""Written conversations."""

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from smith_server.core.cancel import CancelToken
from smith_server.core.errors import AgentFailure, Cancelled
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, Usage, UserMessage
from smith_server.core.ports import Delta, Done, Failed, Request, TextDelta, ThinkingDelta
from smith_server.llm import script
from smith_server.llm.script import Script, parse
from smith_server.llm.scripted import ScriptedProvider

ASK = UserMessage("1", "Hi")


def playing(*replies: list[dict[str, Any]], **more: Any) -> ScriptedProvider:
    return ScriptedProvider(msgspec.convert({"replies": replies, **more}, Script))


async def heard(provider: ScriptedProvider, *messages: Message) -> list[Delta]:
    return [delta async for delta in provider.stream(Request("m", "", messages or (ASK,)), CancelToken())]


async def test_replies_are_played_in_order_and_requests_are_recorded() -> None:
    provider = playing([{"text": "a"}], [{"thinking": "hm"}, {"text": "b"}, {"usage": {"input": 3}}])
    assert await heard(provider) == [TextDelta("a"), Done((Text("a"),), "stop")]
    assert await heard(provider) == [
        ThinkingDelta("hm"),
        TextDelta("b"),
        Done((Thinking("hm"), Text("b")), "stop", Usage(input=3)),
    ]
    assert provider.requests == [Request("m", "", (ASK,))] * 2


async def test_a_text_comes_in_pieces_when_the_script_says_so() -> None:
    deltas = await heard(playing([{"text": "abcde", "size": 2, "delay": 0.001}]))
    assert deltas == [TextDelta("ab"), TextDelta("cd"), TextDelta("e"), Done((Text("abcde"),), "stop")]


async def test_calls_get_ids_of_their_own_unless_they_are_written() -> None:
    steps = [
        {"text": "a"},
        {"call": "read", "arguments": {"p": 1}},
        {"call": "x", "id": "mine", "arguments": "{oops"},
        {"call": "x", "id": "old"},
    ]
    talk = (ASK, AssistantMessage("2", (Call("old", "f"),)), ToolMessage("3", "old", "f", ""), ASK)
    end = (await heard(playing(steps), *talk))[-1]
    assert isinstance(end, Done)
    words, first, second, third = end.parts
    assert isinstance(first, Call)
    assert isinstance(third, Call)
    assert (words, second, end.stop) == (Text("a"), Call("mine", "x", "{oops"), "tool_use")
    assert (first.name, first.arguments) == ("read", '{"p":1}')
    assert third.id != "old"
    assert first.id


def after_reads(*contents: tuple[str, str, bool]) -> tuple[Message, ...]:
    """A conversation in which paths were read, each with what its result said."""
    talk: list[Message] = [ASK]
    for number, (path, content, ok) in enumerate(contents):
        call = Call(f"c{number}", "read", msgspec.json.encode({"path": path}).decode())
        talk += [AssistantMessage(f"a{number}", (call,)), ToolMessage(f"r{number}", call.id, "read", content, ok)]
    return tuple(talk)


OLD, NEW, OTHER = "0123456789abcdef", "fedcba9876543210", "00000000ffffffff"


async def test_arguments_may_refer_to_the_hash_that_was_read_last() -> None:
    talk = after_reads(
        ("a.py", f"hash: {OLD}\n1: x", True),
        ("a.py", f"a.py (hash {NEW}) 2 lines, see {OTHER}", True),
        ("b.py", f"{OTHER}  b.py", True),
        ("a.py", f"hash: {OTHER}", False),
    )
    arguments = {"hash": "{hash:a.py}", "edits": [{"text": "{hash:b.py} {hash:c.py} {x}"}], "line": 3}
    end = (await heard(playing([{"call": "edit", "arguments": arguments}]), *talk))[-1]
    assert isinstance(end, Done)
    (call,) = end.parts
    assert isinstance(call, Call)
    assert msgspec.json.decode(call.arguments) == {
        "hash": NEW,
        "edits": [{"text": OTHER + " {hash:c.py} {x}"}],
        "line": 3,
    }


async def test_an_error_ends_the_reply_and_keeps_what_was_said() -> None:
    steps = [{"text": "a"}, {"call": "f"}, {"error": {"code": "rate_limited", "message": "slow", "retry_after": 2}}]
    deltas = await heard(playing([*steps, {"text": "never"}]))
    assert deltas[0] == TextDelta("a")
    end = deltas[1]
    assert isinstance(end, Failed)
    assert (end.error.code, end.error.message, end.retry_after, end.parts) == ("rate_limited", "slow", 2, (Text("a"),))
    assert (end.error.retryable, end.error.data["output"]) == (False, "call")


async def test_a_reason_may_be_written() -> None:
    assert await heard(playing([{"stop": "max_tokens"}])) == [Done((), "max_tokens")]


async def test_after_the_last_reply_there_is_an_error_or_the_first_one_again() -> None:
    once, again = playing([{"text": "a"}]), playing([{"text": "a"}], loop=True)
    ends = [(await heard(provider))[-1] for provider in (once, once, again, again, again)]
    assert [type(end) for end in ends] == [Done, Failed, Done, Done, Done]


@pytest.mark.parametrize("step", [{"wait": 60}, {"text": "abc", "delay": 60}], ids=["a wait", "a delay"])
async def test_a_cancel_ends_a_wait_at_once(step: dict[str, Any]) -> None:
    token, began = CancelToken(), time.monotonic()
    asyncio.get_running_loop().call_later(0.01, token.request)
    with pytest.raises(Cancelled):
        async for _ in playing([step]).stream(Request("m", "", (ASK,)), token):
            pass
    assert time.monotonic() - began < 5


REFUSED: dict[str, tuple[Message, ...]] = {
    "nothing at all": (),
    "a reply first": (AssistantMessage("1", (Text("a"),)),),
    "an empty reply": (ASK, AssistantMessage("2", (Thinking("hm"), Text(" ")))),
    "a call without its result": (ASK, AssistantMessage("2", (Call("a", "f"),)), ASK),
    "a result from elsewhere": (ASK, ToolMessage("2", "b", "f", "x")),
    "an id twice": (*after_reads(("a", "", True)), *after_reads(("a", "", True))[1:]),
}


@pytest.mark.parametrize("talk", REFUSED.values(), ids=REFUSED)
async def test_a_strict_script_refuses_what_providers_refuse(talk: tuple[Message, ...]) -> None:
    provider = playing([{"text": "a"}], strict=True)
    deltas = [delta async for delta in provider.stream(Request("m", "", talk), CancelToken())]
    (end,) = deltas
    assert isinstance(end, Failed)
    assert (end.error.code, len(provider.requests)) == ("bad_request", 1)
    assert await heard(provider) == [TextDelta("a"), Done((Text("a"),), "stop")]


async def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('[[{"text": "a"}]]', encoding="utf-8")
    assert (await heard(ScriptedProvider.of_file(file)))[-1] == Done((Text("a"),), "stop")


BAD = ["", "3", '[[{"txt": "a"}]]', '[[{"text": "a", "wait": 1}]]', "[[{}]]", '{"replys": []}', '[[{"wait": "long"}]]']


@pytest.mark.parametrize("data", BAD)
def test_a_script_that_is_none_is_refused_with_its_place(data: str, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(data, encoding="utf-8")
    with pytest.raises(AgentFailure) as caught:
        ScriptedProvider.of_file(file)
    assert caught.value.error.code == "bad_script"
    assert caught.value.error.message.startswith(f"{file}, which SMITH_SCRIPT names, is no script: ")


@pytest.mark.parametrize(
    ("name", "why"),
    [("missing.json", "does not exist. Set it to the path of a script."), ("", "cannot be read: Is a directory.")],
    ids=["missing", "a folder"],
)
def test_a_script_that_cannot_be_read_is_told_with_the_variable_that_names_it(
    name: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(AgentFailure) as caught:
        ScriptedProvider.of_file(tmp_path / name)
    assert (caught.value.error.code, caught.value.error.message) == (
        "bad_script",
        f"SMITH_SCRIPT names {tmp_path / name}, which {why}",
    )


def test_the_example_in_the_documentation_is_a_script() -> None:
    example = (script.__doc__ or "").split("JSON.\n", 1)[1].split("\n\n    A reply")[0].split("\n\nA reply")[0]
    assert len(parse(example.encode()).replies) == 4


def test_the_script_in_the_documentation_is_one() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "providers.md").read_text(encoding="utf-8")
    written = page.split("```json\n")[1].split("```")[0]
    played = parse(written.encode())
    assert (played.loop, [len(reply) for reply in played.replies]) == (True, [2, 1])
    told = page.split("A step has one of ")[1]
    assert [name for name in script.Step.__struct_fields__ if f"`{name}`" not in told] == ["id"]
