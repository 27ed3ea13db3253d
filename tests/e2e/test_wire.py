"""The server answers wrong messages as the protocol says, loses nothing by them, and ends as it should."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from smith_server.lsp.frames import FrameReader, frame
from tests.e2e.client import Client
from tests.e2e.processes import until
from tests.e2e.world import World

GOOD = [{"text": "All is well."}]


class Raw:
    """Bytes in, messages out."""

    def __init__(self, client: Client) -> None:
        self.client = client
        assert client.process.stdin is not None
        self._stdin = client.process.stdin

    def feed(self, data: bytes) -> None:
        self._stdin.write(data)

    def body(self, data: bytes) -> None:
        self.feed(frame(data))

    def message(self, **fields: Any) -> None:
        self.body(json.dumps({"jsonrpc": "2.0", **fields}).encode())

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in FrameReader().feed(bytes(self.client.raw))]

    def errors(self) -> list[tuple[Any, int]]:
        return [(each["id"], each["error"]["code"]) for each in self.messages if "error" in each]

    async def answered(self, name: Any) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while not (found := [each for each in self.messages if each.get("id") == name and "method" not in each]):
                await self.client.something()
        return found[0]

    async def error(self, name: Any) -> int:
        return int((await self.answered(name))["error"]["code"])


@pytest.fixture
async def raw(world: World) -> AsyncIterator[Raw]:
    """A connection that has not said anything yet."""
    world.script(GOOD, loop=True)
    client = await Client.start(world.environ, world.root)
    yield Raw(client)
    await client.close()


async def works(raw: Raw, world: World) -> None:
    """After all that, a turn runs."""
    answer = await raw.client.run("smith.turn", text="hi")
    assert answer["text"] == "All is well."
    assert "Traceback" not in bytes(raw.client.raw).decode()
    assert await raw.client.stop() == 0


async def test_nothing_is_taken_before_initialize(raw: Raw, world: World) -> None:
    raw.message(id=901, method="workspace/executeCommand", params={"command": "smith.status"})
    raw.message(id="shut", method="shutdown")
    raw.message(method="textDocument/didOpen", params={})
    raw.message(method="initialized", params={})
    assert await raw.error("shut") == -32002
    assert raw.errors() == [(901, -32002), ("shut", -32002)]
    await raw.client.initialize(world.root)
    await works(raw, world)


async def test_initialize_is_taken_once_and_again_only_after_it_failed(raw: Raw, world: World) -> None:
    raw.message(id="first", method="initialize", params={"capabilities": 7})
    assert await raw.error("first") == -32602
    await raw.client.initialize(world.root)
    raw.message(id="again", method="initialize", params={"capabilities": {}})
    assert await raw.error("again") == -32600
    await works(raw, world)


async def test_initialized_brings_the_services_up_once(raw: Raw, world: World) -> None:
    await raw.client.initialize(world.root)
    raw.message(method="initialized", params={})
    raw.message(method="initialized", params={})
    await works(raw, world)


@pytest.mark.parametrize("answer", [{"result": None}, {"error": -1}, {"error": {"code": 1, "message": "x"}}])
async def test_an_answer_to_a_request_of_ones_own_disturbs_nothing(
    raw: Raw, world: World, answer: dict[str, Any]
) -> None:
    await raw.client.initialize(world.root)
    position = {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}}
    asked = {"id": "own", "method": "textDocument/completion", "params": position}
    good = {"id": "good", "method": "workspace/executeCommand", "params": {"command": "smith.cancel"}}
    raw.feed(
        b"".join(
            frame(json.dumps({"jsonrpc": "2.0", **each}).encode()) for each in (asked, {"id": "own", **answer}, good)
        )
    )
    await raw.answered("good")
    await raw.answered("own")
    await works(raw, world)


async def test_nothing_but_exit_is_taken_after_shutdown(raw: Raw, world: World) -> None:
    await raw.client.initialize(world.root)
    await raw.client.request("shutdown", None)
    raw.message(id="late", method="workspace/executeCommand", params={"command": "smith.status"})
    assert await raw.error("late") == -32600
    raw.message(id="twice", method="shutdown")
    assert await raw.error("twice") == -32600
    raw.message(method="exit")
    assert await asyncio.wait_for(raw.client.process.wait(), 10) == 0


WRONG_REQUESTS: list[tuple[dict[str, Any], int]] = [
    ({"method": "no/such"}, -32601),
    ({"method": "no/such", "params": {"jsonrpc": "2.0", "id": 1, "method": "exit"}}, -32601),
    ({"method": "$/no/such", "params": []}, -32601),
    ({"method": "smith.turn", "params": {"text": "hi"}}, -32601),
    ({"method": "textDocument/hover", "params": {"x": 1}}, -32602),
    ({"method": "workspace/executeCommand"}, -32602),
    ({"method": "workspace/executeCommand", "params": [1, 2]}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": 5}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.nothing"}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.status", "arguments": 7}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.status", "arguments": {"a": 1}}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.status", "arguments": ["a"]}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.status", "arguments": [{}, {}]}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.turn"}}, -32602),
    ({"method": "workspace/executeCommand", "params": {"command": "smith.turn", "arguments": [{"text": 7}]}}, -32602),
    (
        {"method": "workspace/executeCommand", "params": {"command": "smith.inspect", "arguments": [{"op": "x"}]}},
        -32602,
    ),
    (
        {
            "method": "workspace/executeCommand",
            "params": {"command": "smith.conversations", "arguments": [{"op": "load", "conversation": "none"}]},
        },
        -32803,
    ),
]


async def test_wrong_requests_get_the_codes_of_the_protocol(raw: Raw, world: World) -> None:
    await raw.client.initialize(world.root)
    for number, (request, _) in enumerate(WRONG_REQUESTS):
        raw.message(id=f"w{number}", **request)
    codes = [await raw.error(f"w{number}") for number in range(len(WRONG_REQUESTS))]
    assert codes == [code for _, code in WRONG_REQUESTS]
    assert [each["method"] for each in raw.messages if "method" in each] == []
    await works(raw, world)


WRONG_NOTIFICATIONS: list[dict[str, Any]] = [
    {"method": "no/such"},
    {"method": "$/no/such", "params": {"a": 1}},
    {"method": "$/cancelRequest", "params": {"id": 4711}},
    {"method": "$/cancelRequest", "params": {"id": [1]}},
    {"method": "$/cancelRequest"},
    {"method": "window/workDoneProgress/cancel", "params": {"token": {}}},
    {"method": "window/workDoneProgress/cancel", "params": {"token": "none"}},
    {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": 5}},
    {"method": "smith/editDone", "params": {"status": 5}},
    {"method": "smith/editDone", "params": {"status": "applied", "change": "none"}},
    {"method": "smith/changeState", "params": None},
    {"method": "textDocument/didOpen"},
    {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": 7}}},
    {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a%00b", "text": "", "version": 1}}},
    {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "untitled:1", "text": "x", "version": 1}}},
    {"method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///none", "version": "x"}}},
    {"method": "textDocument/didChange", "params": {"contentChanges": [5]}},
    {"method": "textDocument/didClose", "params": []},
    {"method": 5},
]


async def test_wrong_notifications_are_passed_over_in_silence(raw: Raw, world: World) -> None:
    await raw.client.initialize(world.root)
    await raw.client.run("smith.status")
    before = len(raw.messages)
    for notification in WRONG_NOTIFICATIONS:
        raw.message(**notification)
    await raw.client.run("smith.status")
    assert [each.get("id") for each in raw.messages[before:]] == [raw.messages[-1]["id"]]
    world.file("a", "x")
    await works(raw, world)


async def test_what_is_no_message_is_told_where_it_can_be(raw: Raw, world: World) -> None:
    await raw.client.initialize(world.root)
    bodies = [
        b"{oops",
        b"",
        b'"\xff\xfe"',
        b"[" * 100_000,
        b'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
        b"7",
        b'{"id":"old","method":"x"}',
        b'{"jsonrpc":"1.0","id":"one","method":"x"}',
        b'{"jsonrpc":"2.0","id":[1],"method":"x"}',
        b'{"jsonrpc":"2.0","id":null,"method":"x"}',
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":99,"result":5}',
        b'{"jsonrpc":"2.0","id":99,"error":"odd"}',
    ]
    for body in bodies:
        raw.body(body)
    await raw.client.run("smith.status")
    parse, invalid = (None, -32700), (None, -32600)
    named = [("old", -32600), ("one", -32600)]
    assert raw.errors() == [parse, parse, parse, parse, invalid, invalid, *named, invalid, invalid, invalid]
    await works(raw, world)


async def test_a_nested_message_is_data(world: World) -> None:
    world.script(GOOD)
    client = await world.server()
    nested = {"jsonrpc": "2.0", "id": 1, "method": "exit", "type_name": "1", "class": "x", "_x": [{"jsonrpc": "1"}]}
    answer = await client.run("smith.turn", text="hi", extra=nested, context={"cwd": str(world.root), "more": nested})
    assert answer["text"] == "All is well."


async def test_an_id_in_use_is_refused_and_the_first_request_goes_on(world: World) -> None:
    world.script([{"wait": 0.3}, {"text": "First."}])
    client = await world.server()
    raw = Raw(client)
    execute = {"id": "same", "method": "workspace/executeCommand"}
    raw.message(**execute, params={"command": "smith.turn", "arguments": [{"text": "hi"}]})
    raw.message(**execute, params={"command": "smith.status"})
    assert await raw.error("same") == -32600
    await client.event("turn_completed")
    await client.run("smith.status")
    assert [each["result"]["text"] for each in raw.messages if each.get("id") == "same" and "result" in each] == [
        "First."
    ]


async def test_a_cancel_of_a_finished_request_changes_nothing(world: World) -> None:
    world.script(GOOD, GOOD)
    client = await world.server()
    name, turn = client.command("smith.turn", text="hi")
    await turn
    client.notify("$/cancelRequest", {"id": name})
    assert (await client.run("smith.turn", text="hi"))["stop_reason"] == "completed"


@pytest.mark.parametrize("cancel", [("$/cancelRequest", "id"), ("window/workDoneProgress/cancel", "token")])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "just begun"])
async def test_a_cancel_in_the_same_read_as_its_request_is_answered_and_nothing_runs(
    raw: Raw, world: World, cancel: tuple[str, str], warm: bool
) -> None:
    await raw.client.initialize(world.root)
    if warm:
        await raw.client.run("smith.status")
    method, field = cancel
    params = {"command": "smith.turn", "arguments": [{"text": "hi"}], "workDoneToken": "here"}
    request = {"jsonrpc": "2.0", "id": "here", "method": "workspace/executeCommand", "params": params}
    end = {"jsonrpc": "2.0", "method": method, "params": {field: "here"}}
    raw.feed(b"".join(frame(json.dumps(message).encode()) for message in (request, end)))
    assert await raw.error("here") == -32800
    assert (await raw.client.run("smith.status"))["sessions"] == []
    assert raw.client.kinds() == []
    assert [each["id"] for each in raw.messages if each.get("id") == "here"] == ["here"]
    await works(raw, world)


async def test_ten_thousand_requests_at_once_are_all_answered_and_the_cancel_behind_them_is_served(
    world: World,
) -> None:
    world.script([{"wait": 60}])
    client = await world.server()
    _, turn = client.command("smith.turn", text="hi")
    await client.event("llm_request_started")
    answers = [client.command("smith.status")[1] for _ in range(10_000)]
    assert (await client.run("smith.cancel"))["cancelled"]
    assert (await turn)["stop_reason"] == "cancelled"
    assert len(await asyncio.wait_for(asyncio.gather(*answers), 30)) == 10_000


@pytest.mark.parametrize("size", [1, 4096], ids=["byte by byte", "in small pieces"])
async def test_a_message_may_come_in_pieces_of_any_size(raw: Raw, world: World, size: int) -> None:
    await raw.client.initialize(world.root)
    text = "l\u00efne\n" * (200 if size == 1 else 5_000_000 // 6)
    item = {"uri": (world.root / "big").as_uri(), "languageId": "text", "version": 1, "text": text}
    params = {"textDocument": item}
    body = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params}, ensure_ascii=False)
    data = b"content-length:%d\r\nContent-Type: x\r\n\r\n%b" % (len(body.encode()), body.encode())
    assert raw.client.process.stdin is not None
    for at in range(0, len(data), size):
        raw.feed(data[at : at + size])
        await raw.client.process.stdin.drain()
    world.script([{"call": "read", "arguments": {"path": "big", "limit": 1}}], GOOD)
    raw.client.handlers["smith/readBuffer"] = lambda params: {"open": False}
    await works(raw, world)
    finished = [event for event in raw.client.events if event["kind"] == "tool_call_finished"]
    assert "l\u00efne" in finished[0]["content"]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 1000000000000\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"Content-Length: five\r\n\r\n",
        b"Content-Type: text\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"x" * 10_000,
    ],
    ids=["negative", "enormous", "twice", "no number", "none", "HTTP", "no header"],
)
async def test_a_stream_that_cannot_be_followed_is_given_up_cleanly(raw: Raw, world: World, header: bytes) -> None:
    await raw.client.initialize(world.root)
    raw.feed(header)
    assert await asyncio.wait_for(raw.client.process.wait(), 10) == 1


@pytest.mark.parametrize("when", ["at once", "initialized", "in a turn"])
@pytest.mark.parametrize(("how", "code"), [("exit", 1), ("shutdown", 0), ("stdin", 1), ("TERM", 143), ("INT", 130)])
async def test_every_end_is_an_end(raw: Raw, world: World, when: str, how: str, code: int) -> None:
    world.script([{"text": "Begun."}, {"wait": 60}])
    if when != "at once":
        await raw.client.initialize(world.root)
    elif how == "shutdown":
        code = 1
    if when == "in a turn":
        raw.client.command("smith.turn", text="hi")
        await raw.client.event("llm_output_delta")
    elif when == "at once" and how in ("TERM", "INT"):
        raw.message(id="there", method="x")
        await raw.answered("there")
    process = raw.client.process
    assert process.stdin is not None
    if how == "stdin":
        process.stdin.close()
    elif how in ("TERM", "INT"):
        process.send_signal(signal.SIGTERM if how == "TERM" else signal.SIGINT)
    else:
        if how == "shutdown":
            raw.message(id="end", method="shutdown")
            await raw.answered("end")
        raw.message(method="exit")
    assert await asyncio.wait_for(process.wait(), 10) == code


class Unread:
    """A server whose output nobody reads until `read`."""

    def __init__(self, world: World) -> None:
        self.path = world.home / "smith" / "smith.db"
        self.frames = FrameReader()
        command = [sys.executable, "-m", "smith_server", "serve"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=world.environ, cwd=world.root)
        own = {"protocol": 1, "events": True, "applyEdit": True}
        capabilities = {"experimental": {"smith": own}}
        params = {"processId": os.getpid(), "rootUri": world.root.as_uri(), "capabilities": capabilities}
        self.send(id=1, method="initialize", params=params)
        self.send(method="initialized", params={})

    def send(self, **fields: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame(json.dumps({"jsonrpc": "2.0", **fields}).encode()))
        self.process.stdin.flush()

    def command(self, name: int, command: str, **argument: Any) -> None:
        self.send(id=name, method="workspace/executeCommand", params={"command": command, "arguments": [argument]})

    def stored(self, query: str) -> Any:
        """What the store says: one value, or None."""
        if not self.path.exists():
            return None
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True) as connection:
            try:
                row = connection.execute(query).fetchone()
            except sqlite3.OperationalError:
                return None
        return row[0] if row else None

    def read(self, *wanted: int | str) -> list[dict[str, Any]]:
        """Everything, until these requests are answered and these kinds of events came."""
        assert self.process.stdout is not None
        found: list[dict[str, Any]] = []
        while not set(wanted) <= {name for each in found for name in (each.get("id"), kind(each))}:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "it ended"
            found += [json.loads(body) for body in self.frames.feed(data)]
        return found

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def kind(message: dict[str, Any]) -> str:
    return str((message.get("params") or {}).get("kind", ""))


STATE = "SELECT state FROM turn ORDER BY turn DESC LIMIT 1"


@pytest.mark.parametrize("cancels", [False, True], ids=["to its end", "until it is cancelled"])
async def test_a_client_that_does_not_read_keeps_no_turn_from_going_on(world: World, cancels: bool) -> None:
    endless = [{"wait": 60}] if cancels else []
    world.script([{"text": "x" * 20_000_000, "size": 200_000, "delay": 0.01}, {"text": "The end."}, *endless])
    unread = Unread(world)
    try:
        unread.command(2, "smith.turn", text="go")
        if cancels:
            await until(lambda: (unread.stored("SELECT sum(length(text)) FROM piece") or 0) > 20_000_000, 30)
            unread.command(3, "smith.cancel")
        state = "cancelled" if cancels else "completed"
        await until(lambda: unread.stored(STATE) == state, 30)
        messages = await asyncio.to_thread(unread.read, "resync", *([2, 3] if cancels else [2]))
        answer = next(each["result"] for each in messages if each.get("id") == 2)
        assert answer["stop_reason"] == state
        assert answer["text"].endswith("x" * 10 + "The end.")
        events = [each["params"] for each in messages if each.get("method") == "smith/event"]
        assert sum(len(event.get("text", "")) for event in events) < 10_000_000
        numbers = [event["seq"] for event in events]
        assert numbers == list(range(1, len(numbers) + 1))
        unread.command(4, "smith.conversations", op="load", conversation=answer["conversation"])
        loaded = (await asyncio.to_thread(unread.read, 4))[-1]["result"]["events"]
        assert "".join(event.get("text", "") for event in loaded).endswith("The end.")
    finally:
        unread.end()
