"""Changes that the server cannot read as they were meant never lead to an edit of the wrong place."""

import asyncio
from typing import Any

import pytest

from smith_server.lsp.frames import frame
from smith_server.workspace.text import text_hash
from tests.e2e.client import Client
from tests.e2e.test_edits import auto, read, replace_line
from tests.e2e.world import World

DONE = [{"text": "Done."}]
HALF = "\ud83d"
Place = tuple[int, int]


class Typist:
    """A client that sends its changes as pieces; strings are UTF-16 to it, halves of pairs included."""

    def __init__(self, client: Client, world: World, text: str) -> None:
        self.client, self.text, self.version = client, text, 1
        self.path = world.file("a.py", text)
        client.handlers["workspace/applyEdit"] = self.plain
        client.handlers["smith/applyEdit"] = self.guarded
        client.handlers["smith/readBuffer"] = self.read
        client.open(self.path, text)

    def type(self, first: Place, last: Place, text: str) -> None:
        start, end = ({"line": line, "character": character} for line, character in (first, last))
        self.splice({"start": start, "end": end}, text)

    def splice(self, span: Any, text: str, *, version: int | None = None) -> None:
        self.change_unsent(span, text)
        self.version = self.version if version is None else version
        document = {"uri": self.path.as_uri(), "version": self.version}
        params = {"textDocument": document, "contentChanges": [{"range": span, "text": text}]}
        self.client.notify("textDocument/didChange", params)

    def change_unsent(self, span: Any, text: str) -> None:
        start, end = (self._offset(span[name]) for name in ("start", "end"))
        units = self.text.encode("utf-16-le", "surrogatepass")
        changed = units[:start] + text.encode("utf-16-le", "surrogatepass") + units[end:]
        self.text, self.version = changed.decode("utf-16-le", "surrogatepass"), self.version + 1

    def _offset(self, place: dict[str, int]) -> int:
        before = "".join([line + "\n" for line in self.text.split("\n")][: place["line"]])
        return len(before.encode("utf-16-le", "surrogatepass")) + 2 * place["character"]

    def plain(self, params: dict[str, Any]) -> dict[str, Any]:
        (change,) = params["edit"]["documentChanges"]
        if change["textDocument"]["version"] != self.version:
            return {"applied": False, "failureReason": "it was changed"}
        for edit in reversed(change["edits"]):
            self.splice(edit["range"], edit["newText"])
        return {"applied": True}

    def guarded(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["base_hash"] != self.hash:
            return {"status": "stale", "hash": self.hash}
        for edit in reversed(params["edits"]):
            self.splice(edit["range"], edit["newText"])
        return {"status": "applied", "version": self.version, "hash": self.hash}

    @property
    def hash(self) -> str:
        return "of half a pair" if HALF in self.text else text_hash(self.text)

    def read(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"open": True, "text": self.text, "version": self.version, "uri": self.path.as_uri()}

    async def results(self) -> list[tuple[bool, str]]:
        listed = await self.client.run("smith.inspect", op="list")
        found = [each["content"] for each in listed["messages"] if each["role"] == "tool"]
        return [(each.get("ok", True), each.get("code", "")) for each in found]


async def typist(world: World, *, plugin: bool, line: int) -> Typist:
    auto(world)
    world.script(read("a.py"), replace_line("a.py", line, "agent"), DONE)
    return Typist(await world.server(plugin=plugin), world, "one\ntwo\nthree\n")


plugins = pytest.mark.parametrize("plugin", [False, True], ids=["plain", "plugin"])


@plugins
async def test_half_a_pair_in_a_change_moves_no_later_edit(world: World, plugin: bool) -> None:
    client = await typist(world, plugin=plugin, line=3)
    client.type((0, 0), (0, 0), f"MINE{HALF}\n")
    client.type((1, 0), (1, 0), "1")
    await client.client.run("smith.turn", text="do it")
    after = "two" if plugin else "agent"
    assert client.text == f"MINE{HALF}\n1one\n{after}\nthree\n"
    assert (await client.results())[-1][0] is not plugin


async def test_the_line_of_half_a_pair_is_not_written(world: World) -> None:
    client = await typist(world, plugin=False, line=1)
    client.type((0, 1), (0, 1), f"{HALF}x")
    await client.client.run("smith.turn", text="do it")
    assert client.text == f"o{HALF}xne\ntwo\nthree\n"
    assert (await client.results())[-1] == (False, "edit_refused")


async def test_a_pair_that_is_typed_in_halves_moves_nothing_behind_it(world: World) -> None:
    client = await typist(world, plugin=False, line=2)
    client.type((0, 0), (0, 0), HALF)
    client.type((0, 1), (0, 1), "\ude00")
    client.type((0, 2), (0, 5), "1\nmore")
    await client.client.run("smith.turn", text="do it")
    assert client.text == "\U0001f6001\nagent\ntwo\nthree\n"


TOP = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
UNREADABLE = [
    b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":"\xff"}',
    b"{oops",
    b'[{"jsonrpc":"2.0","method":"textDocument/didChange"}]',
    b'{"method":"textDocument/didChange","params":{}}',
    b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"contentChanges":[5]}}',
]


@plugins
@pytest.mark.parametrize("body", UNREADABLE, ids=["bytes", "no JSON", "a batch", "no version", "no name"])
async def test_after_what_may_have_been_a_change_no_text_is_relied_on(world: World, plugin: bool, body: bytes) -> None:
    client = await typist(world, plugin=plugin, line=2)
    client.change_unsent(TOP, "MINE\n")
    assert client.client.process.stdin is not None
    client.client.process.stdin.write(frame(body))
    client.type((3, 0), (3, 0), "3")
    await client.client.run("smith.turn", text="do it")
    if plugin:
        assert client.text == "MINE\nagent\ntwo\n3three\n"
    else:
        assert client.text == "MINE\none\ntwo\n3three\n"
        assert (await client.results())[-1] == (False, "edit_refused")


@pytest.mark.parametrize("again", ["open", "change"])
async def test_a_whole_text_ends_the_doubt(world: World, again: str) -> None:
    client = await typist(world, plugin=False, line=2)
    client.change_unsent(TOP, "MINE\n")
    assert client.client.process.stdin is not None
    client.client.process.stdin.write(frame(b"{oops"))
    if again == "open":
        client.client.notify("textDocument/didClose", {"textDocument": {"uri": client.path.as_uri()}})
        client.client.open(client.path, client.text, client.version)
    else:
        client.client.change(client.path, client.text, client.version)
    await client.client.run("smith.turn", text="do it")
    assert client.text == "MINE\nagent\ntwo\nthree\n"


@pytest.mark.parametrize(("version", "ok"), [(1, False), (0, False), (900, True)])
async def test_a_version_may_jump_and_has_to_grow(world: World, version: int, ok: bool) -> None:
    client = await typist(world, plugin=False, line=2)
    client.splice(TOP, "MINE\n", version=version)
    await client.client.run("smith.turn", text="do it")
    assert client.text == f"MINE\n{'agent' if ok else 'one'}\ntwo\nthree\n"
    assert (await client.results())[-1][0] is ok


async def test_a_request_with_half_a_pair_is_answered_under_its_own_id(world: World) -> None:
    world.script(DONE)
    client = await world.server()
    answer = await asyncio.wait_for(client.command("smith.turn", text=f"half {HALF}")[1], 20)
    assert answer["text"] == "Done."
