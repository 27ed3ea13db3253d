"""Bad input gets one clear message that says what to do, and loses nothing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from tests.e2e.client import Client, RpcError
from tests.e2e.command import smith
from tests.e2e.world import World

GOOD = [{"text": "All is well."}]


async def failed(client: Client, code: str, *told: str) -> None:
    """A turn fails with `code` and words that name all of `told`; the conversation and its prompt stay."""
    answer = await client.run("smith.turn", text="please do it")
    assert (answer["stop_reason"], answer["error"]["code"]) == ("error", code)
    for words in told:
        assert words in answer["error"]["message"]
    assert client.kinds()[-1] == "turn_error"
    listed = await client.run("smith.inspect", op="list")
    assert listed["messages"][-1]["text"] == "please do it"


async def works_again(client: Client, model: LLMock) -> None:
    model.reply("All is well.")
    assert (await client.run("smith.turn", text="again"))["text"] == "All is well."


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ("openai", ["openai needs a key", "Set OPENAI_API_KEY in the environment"]),
        ("openrouter", ["openrouter needs a key", "Set OPENROUTER_API_KEY in the environment"]),
        ("custom", ["`llm_config.api_url`"]),
        ("ollama", ["No Ollama answers at", "ollama serve"]),
        ("", ["OPENROUTER_API_KEY", "`ollama serve`", "`llm_config.api_url`"]),
    ],
)
async def test_without_a_key_or_a_server_it_says_what_to_set(world: World, provider: str, told: list[str]) -> None:
    world.environ["OLLAMA_HOST"] = "127.0.0.1:1"
    done = await smith(world, "run", "hi", *(["-p", provider] if provider else []))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("smith: ")
    for words in told:
        assert words in done.err


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_told_with_the_name_of_its_variable_and_never_with_its_value(
    world: World, model: LLMock, status: int
) -> None:
    world.use(model)
    world.environ["LLM_API_KEY"] = "sk-wrong-0123456789"
    model.fail(status, message="Incorrect API key provided: sk-wrong-0123456789")
    client = await world.server()
    await failed(client, "auth", "Incorrect API key", "LLM_API_KEY")
    assert b"sk-wrong" not in client.raw
    assert len(model.requests) == 1
    await works_again(client, model)


async def test_an_address_where_nobody_answers_is_told_and_may_be_there_later(world: World, model: LLMock) -> None:
    world.settings('[llm_config]\nmodel = "mock"\napi_url = "http://127.0.0.1:1/v1"\n')
    client = await world.server()
    await failed(client, "unreachable", "http://127.0.0.1:1/v1", "Is the server running?")
    (world.home / "smith" / "config.toml").unlink()
    world.use(model)
    await works_again(client, model)


@pytest.mark.parametrize("address", ["localhost:8080/v1", "ftp://x/v1", "http://", "not an address"])
async def test_an_address_that_is_none_is_told(world: World, address: str) -> None:
    world.settings(f'[llm_config]\nmodel = "mock"\napi_url = "{address}"\n')
    done = await smith(world, "run", "hi")
    assert (done.code, done.out) == (1, "")
    assert "no http or https URL" in done.err
    assert address.rstrip("/") in done.err


MALFORMED: dict[str, Callable[[Path], object]] = {
    "syntax": lambda path: path.write_text("approval = {\n"),
    "binary": lambda path: path.write_bytes(b"\x00\xff\xfe" * 50),
    "latin-1": lambda path: path.write_bytes(b'default_model = "caf\xe9"\n'),
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "link to nowhere": lambda path: path.symlink_to("/nowhere/at/all"),
    "huge": lambda path: path.write_text("#" * (2 << 20)),
    "wrong mode": lambda path: path.write_text('[approval]\nmode = "yolo"\n'),
    "unknown guard": lambda path: path.write_text('[approval]\nmodus = "prompt"\n'),
}
malformed = pytest.mark.parametrize("kind", MALFORMED)


def malform(world: World, kind: str) -> Path:
    path = world.home / "smith" / "config.toml"
    path.parent.mkdir()
    MALFORMED[kind](path)
    return path


@malformed
async def test_a_run_stops_at_settings_that_cannot_be_read(world: World, kind: str) -> None:
    world.script(GOOD)
    path = malform(world, kind)
    done = await smith(world, "run", "--yes", "hi")
    assert (done.code, done.out) == (1, "")
    assert str(path) in done.err
    assert "nothing was run" in done.err


@malformed
async def test_a_server_with_settings_that_cannot_be_read_asks_for_everything(world: World, kind: str) -> None:
    world.script([{"call": "bash", "arguments": {"command": "touch ran"}}], GOOD)
    path = malform(world, kind)
    client = await world.server(initializationOptions={"settings": {"approval": {"mode": "auto"}}})
    _, turn = client.command("smith.turn", text="do it")
    asked = await client.event("approval_asked")
    assert not (world.root / "ran").exists()
    await client.run("smith.answer", id=asked["id"], decision="yes")
    assert (await turn)["text"] == "All is well."
    assert (world.root / "ran").exists()
    notices = [event["text"] for event in client.events if event["kind"] == "notice"]
    assert [text for text in notices if str(path) in text] == notices[:1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("max_requests = -1", "config.toml:1: `max_requests`"),
        ('max_requests = "many"', "config.toml:1: `max_requests`"),
        ("max_reqests = 3", "did you mean `max_requests`?"),
        ("[bash]\ntimeout = true", "config.toml:2: `bash.timeout`"),
    ],
)
async def test_one_bad_setting_costs_that_setting_alone(world: World, line: str, told: str) -> None:
    world.script(GOOD)
    world.settings(f"{line}\n")
    done = await smith(world, "run", "hi")
    assert (done.code, done.out) == (0, "All is well.\n")
    assert told in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("mode", ["auto", "prompt"])
async def test_settings_that_break_while_a_server_runs_stay_as_they_were_and_that_is_said(
    world: World, mode: str
) -> None:
    world.settings(f'[approval]\nmode = "{mode}"\n')
    world.script(GOOD, [{"call": "bash", "arguments": {"command": "touch ran"}}], GOOD)
    client = await world.server()
    await client.run("smith.turn", text="hi")
    world.settings("broken = [\n")
    _, turn = client.command("smith.turn", text="do it")
    if mode == "prompt":
        asked = await client.event("approval_asked")
        await client.run("smith.answer", id=asked["id"], decision="no")
    assert (await turn)["stop_reason"] == "completed"
    assert (world.root / "ran").exists() == (mode == "auto")
    notices = [event["text"] for event in client.events if event["kind"] == "notice"]
    assert "config.toml cannot be used" in notices[0]
    assert notices[1:] == ["The settings as they were before stay in force until that is repaired."]


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
async def test_a_settings_file_that_was_named_has_to_be_one(world: World, kind: str) -> None:
    world.script(GOOD)
    path = world.root / "own.toml"
    if kind != "missing":
        MALFORMED[kind](path)
    done = await smith(world, "run", "hi", "--config", str(path))
    assert (done.code, done.out, done.err) == (1, "", f"smith: {path} does not exist or is no file.\n")
    client = await Client.start(world.environ, world.root, ("-m", "smith_server", "serve", "--config", str(path)))
    await client.initialize(world.root)
    with pytest.raises(RpcError, match="does not exist or is no file"):
        await client.run("smith.turn", text="hi")
    assert await client.stop() == 0
    await client.close()


FILES: dict[str, Callable[[Path], object]] = {
    "is_directory": lambda path: path.mkdir(),
    "not_regular_file": lambda path: os.mkfifo(path),
    "binary_file": lambda path: path.write_bytes(b"\x7fELF\x00\x01\x02\xff" * 100),
    "file_not_found": lambda path: None,
    "link_loop": lambda path: path.symlink_to(path),
}


def looks(path: Path) -> Any:
    """What must not change about `path`."""
    if not os.path.lexists(path):
        return None
    found = os.lstat(path)
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns


TOOLS = {"read": {}, "replace": {"old": "a", "new": "b"}, "write": {"content": "new"}}
ODD = [(tool, code) for tool in TOOLS for code in FILES if (tool, code) != ("write", "file_not_found")]


@pytest.mark.parametrize(("tool", "code"), ODD)
async def test_what_is_no_text_file_is_refused_by_name_and_left_as_it_is(world: World, tool: str, code: str) -> None:
    path = world.root / "odd"
    FILES[code](path)
    before = looks(path)
    world.script([{"call": tool, "arguments": {"path": "odd", **TOOLS[tool]}}], GOOD)
    done = await smith(world, "run", "--yes", "--json", "try it")
    finished = done.only("tool_finished")[0]
    assert (done.code, finished["code"], finished["mutation"]) == (0, code, "none")
    assert "odd" in finished["result"]
    assert looks(path) == before


async def test_an_unknown_tool_is_told_to_the_model_with_the_known_ones(world: World, model: LLMock) -> None:
    world.use(model)
    model.call_tool("read", {"path": "a"})
    model.break_tool_call("unknown_tool")
    model.reply("Sorry.")
    done = await smith(world, "run", "--json", "try it")
    finished = done.only("tool_finished")[0]
    assert (done.code, finished["code"]) == (0, "unknown_tool")
    known = finished["result"].partition("The tools are: ")[2].rstrip(".").split(", ")
    assert known == sorted(known)
    assert {"bash", "bash_output", "code_grep", "dispatch", "edit", "note", "read", "recall", "record"} <= set(known)
    assert_paired(model.requests[-1].body["messages"])


async def test_arguments_that_are_no_json_are_told_to_the_model(world: World, model: LLMock) -> None:
    world.use(model)
    model.call_tool("bash", {"command": "touch ran"})
    model.break_tool_call("malformed_arguments")
    model.reply("Sorry.")
    done = await smith(world, "run", "--yes", "--json", "try it")
    finished = done.only("tool_finished")[0]
    assert (done.code, finished["code"]) == (0, "invalid_arguments")
    assert "not a JSON object" in finished["result"]
    assert not (world.root / "ran").exists()
    assert_paired(model.requests[-1].body["messages"])


@pytest.mark.parametrize("arguments", ['["a"]', "null", '"text"', "7", '{"path": 7}', '{"path": "a", "x": 1}', "{}"])
async def test_arguments_that_do_not_fit_are_told_to_the_model(world: World, arguments: str) -> None:
    world.script([{"call": "read", "arguments": arguments}], GOOD, strict=True)
    done = await smith(world, "run", "--json", "try it")
    finished = done.only("tool_finished")[0]
    assert (done.code, finished["code"]) == (0, "invalid_arguments")
    assert "read" in finished["result"]


def assert_paired(messages: list[dict[str, Any]]) -> None:
    """Every call has its result right behind it, as strict servers want it."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            open_calls.remove(message["tool_call_id"])
        else:
            assert open_calls == []
            open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    assert open_calls == []


@pytest.mark.parametrize("depth", [1000, 100_000])
@pytest.mark.parametrize("name", ["bash", "nothing"])
async def test_arguments_nested_too_deep_are_told_to_the_model_and_the_conversation_loads(
    world: World, name: str, depth: int
) -> None:
    arguments = '{"command": ' + "[" * depth + "]" * depth + "}"
    world.script([{"call": name, "arguments": arguments}], GOOD)
    client = await world.server()
    answer = await client.run("smith.turn", text="go")
    assert (answer["stop_reason"], answer["text"]) == ("completed", "All is well.")
    finished = await client.event("tool_call_finished")
    assert finished["code"] == ("invalid_arguments" if name == "bash" else "unknown_tool")
    await client.stop()
    world.script(GOOD)
    again = await world.server()
    loaded = await again.run("smith.conversations", op="load", conversation=answer["conversation"])
    assert "tool_call_finished" in [event["kind"] for event in loaded["events"]]
    assert (await again.run("smith.turn", text="again"))["stop_reason"] == "completed"
