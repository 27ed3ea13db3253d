"""A guarded edit in an open buffer of our own front-end, played by a client that edits as an editor would."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from smith_server.workspace.text import text_hash
from tests.e2e.client import Client
from tests.e2e.world import World


class Buffer:
    """One open, perhaps unsaved buffer that answers the server as an editor does."""

    def __init__(self, client: Client, path: Path, text: str) -> None:
        self.client, self.path, self.text, self.version = client, path, text, 1
        self.asked: list[dict[str, Any]] = []
        self.status: list[str] = []
        client.handlers["smith/applyEdit"] = self.apply
        client.handlers["smith/readBuffer"] = self.read
        client.handlers["smith/saveBuffers"] = self.save
        client.open(path, text)

    def type(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        self.client.change(self.path, text, self.version)

    def read(self, params: dict[str, Any]) -> dict[str, Any]:
        if Path(params["real_path"]) != self.path.resolve():
            return {"open": False}
        return {"open": True, "text": self.text, "version": self.version, "uri": self.path.as_uri()}

    def apply(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params)
        if self.status and self.status[0] != "applied":
            return {"status": self.status.pop(0), "change": params["change"]}
        if params["base_hash"] != text_hash(self.text):
            return {"status": "stale", "hash": text_hash(self.text)}
        self.type(edited(self.text, params["edits"]))
        return {"status": "applied", "version": self.version, "hash": text_hash(self.text)}

    def save(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["base_hashes"] != [text_hash(self.text)]:
            return {"results": [{"uri": uri, "status": "stale"} for uri in params["uris"]]}
        self.path.write_text(self.text, newline="")
        return {"results": [{"uri": uri, "status": "saved"} for uri in params["uris"]]}


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    lines = [line + "\n" for line in text.split("\n")]

    def offset(place: dict[str, int]) -> int:
        before = "".join(lines[: place["line"]])
        units = lines[place["line"]].encode("utf-16-le")[: place["character"] * 2]
        return len(before) + len(units.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: offset(each["range"]["start"]), reverse=True):
        start, end = (offset(edit["range"][name]) for name in ("start", "end"))
        assert text[start:end] == edit["old"]
        text = text[:start] + edit["newText"] + text[end:]
    return text


def auto(world: World) -> None:
    world.settings('[approval]\nmode = "auto"\n')


def read(path: str) -> list[dict[str, Any]]:
    return [{"call": "read", "arguments": {"path": path}}]


def replace_line(path: str, line: int, content: str) -> list[dict[str, Any]]:
    arguments = {
        "path": path,
        "hash": f"{{hash:{path}}}",
        "operation": "replace",
        "start_line": line,
        "end_line": line,
        "content": content,
    }
    return [{"call": "edit", "arguments": arguments}]


async def results(client: Client) -> list[dict[str, Any]]:
    return [event for event in client.events if event["kind"] == "tool_call_finished"]


async def test_an_edit_lands_in_the_unsaved_buffer_and_the_disk_is_untouched(world: World, model: LLMock) -> None:
    world.use(model)
    auto(world)
    path = world.file("a.py", "one\ntwo\nthree\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\nTWO, not saved\nthree\n")
    model.call_tool("read", {"path": "a.py"})
    model.call_tool("replace", {"path": "a.py", "old": "three", "new": "3"})
    model.reply("Done.")
    answer = await client.run("smith.turn", text="change it")
    assert answer["stop_reason"] == "completed"
    assert buffer.text == "one\nTWO, not saved\n3\n"
    assert path.read_text() == "one\ntwo\nthree\n"
    bodies = [request.body for request in model.requests]
    told = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "tool"]
    assert "TWO, not saved" in told[0]
    assert text_hash(buffer.text) in told[1]


async def test_typing_into_the_same_lines_makes_the_edit_stale_and_keeps_every_character(world: World) -> None:
    auto(world)
    world.script(read("a.py"), [{"wait": 0.3}, *replace_line("a.py", 2, "agent")], [{"text": "Refused."}])
    path = world.file("a.py", "one\ntwo\nthree\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\nthree\n")
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    await client.event("tool_call_finished", name="read")
    buffer.type("one\ntwo, mine\nthree\n")
    await turn
    assert buffer.text == "one\ntwo, mine\nthree\n"
    last = (await results(client))[-1]
    assert (last["ok"], last["code"]) == (False, "hash_mismatch")
    assert "two, mine" in last["content"]


@pytest.mark.parametrize(("rebase", "after"), [(False, "new\none\ntwo\nthree\n"), (True, "new\none\nagent\nthree\n")])
async def test_typing_elsewhere_is_refused_or_rebased_and_never_hits_the_wrong_line(
    world: World, rebase: bool, after: str
) -> None:
    auto(world)
    world.settings(f"[editor]\nrebase = {str(rebase).lower()}\n")
    world.script(read("a.py"), [{"wait": 0.3}, *replace_line("a.py", 2, "agent")], [{"text": "So."}])
    path = world.file("a.py", "one\ntwo\nthree\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\nthree\n")
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    await client.event("tool_call_finished", name="read")
    buffer.type("new\none\ntwo\nthree\n")
    await turn
    assert buffer.text == after


async def test_a_deferred_edit_is_waited_for(world: World) -> None:
    auto(world)
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), [{"text": "Done."}])
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\n")
    buffer.status = ["deferred"]
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    waiting = await client.event("edit_waiting")
    assert waiting["path"] == str(path)
    answer = buffer.apply(buffer.asked[-1])
    client.notify("smith/editDone", {"change": buffer.asked[-1]["change"], **answer})
    await turn
    assert buffer.text == "one\nagent\n"
    assert (await results(client))[-1]["ok"]


async def test_a_cancel_withdraws_a_deferred_edit(world: World) -> None:
    auto(world)
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), [{"text": "Done."}])
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\n")
    buffer.status = ["deferred"]
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    await client.event("edit_waiting")
    cancel = asyncio.ensure_future(client.run("smith.cancel"))
    while not [name for name, _ in client.notes if name == "smith/withdrawEdit"]:
        await client.something()
    client.notify("smith/editDone", {"change": buffer.asked[-1]["change"], "status": "withdrawn"})
    assert (await turn)["stop_reason"] == "cancelled"
    assert len((await cancel)["dropped"]) == 1
    assert buffer.text == "one\ntwo\n"


@pytest.mark.parametrize("status", ["read_only", "refused", "failed", "expired"])
async def test_an_edit_that_the_editor_does_not_take_is_told_as_such(world: World, status: str) -> None:
    auto(world)
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), [{"text": "Hm."}])
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\n")
    buffer.status = [status]
    await client.run("smith.turn", text="change it")
    last = (await results(client))[-1]
    assert not last["ok"]
    assert (buffer.text, path.read_text()) == ("one\ntwo\n", "one\ntwo\n")


async def test_a_buffer_that_the_server_does_not_know_is_asked_for_before_the_disk_is_written(world: World) -> None:
    auto(world)
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), [{"text": "Hm."}])
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\nunsaved\n")
    client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
    await client.run("smith.turn", text="change it")
    assert path.read_text() == "one\ntwo\n"
    assert (await results(client))[-1]["code"] == "hash_mismatch"
    assert buffer.asked == []


async def test_a_command_sees_the_edit_because_the_agents_buffer_is_saved_first(world: World) -> None:
    auto(world)
    command = [{"call": "bash", "arguments": {"command": "cat a.py; echo more >> b.py"}}]
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), command, [{"text": "Done."}])
    path, other = world.file("a.py", "one\ntwo\n"), world.file("b.py", "b\n")
    client = await world.server()
    Buffer(client, path, "one\ntwo\n")
    client.open(other, "b\n")
    await client.run("smith.turn", text="change it")
    last = (await results(client))[-1]
    assert "one\nagent" in last["content"]
    changed = await client.event("files_changed")
    assert (changed["paths"], changed["modified"]) == ([str(other)], [])


async def test_a_buffer_with_the_persons_own_text_is_not_saved_and_the_model_is_told(world: World) -> None:
    auto(world)
    world.script([{"call": "bash", "arguments": {"command": "cat a.py"}}], [{"text": "Done."}])
    path = world.file("a.py", "on disk\n")
    client = await world.server()
    Buffer(client, path, "mine, unsaved\n")
    await client.run("smith.turn", text="look")
    last = (await results(client))[-1]
    assert "not on disk: a.py (unsaved text of the user)" in last["content"]
    assert path.read_text() == "on disk\n"


COMMAND = [{"call": "bash", "arguments": {"command": "cat a.py; touch ran"}}]


@pytest.mark.parametrize("told", [True, False], ids=["the server knows", "the server does not know yet"])
async def test_what_the_person_types_while_a_question_is_open_is_not_saved_by_the_yes(world: World, told: bool) -> None:
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), COMMAND, [{"text": "Done."}])
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\n")
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    edit = await client.event("approval_asked", name="edit")
    await client.run("smith.answer", id=edit["id"], decision="yes")
    asked = await client.event("approval_asked", name="bash")
    assert asked["saves"] == ["a.py"]
    if told:
        buffer.type("one\nagent\nmine\n")
    else:
        buffer.text = "one\nagent\nmine\n"
    await client.run("smith.answer", id=asked["id"], decision="yes")
    await turn
    assert path.read_text() == "one\ntwo\n"
    assert "not on disk: a.py (unsaved text of the user)" in (await results(client))[-1]["content"]


async def test_a_client_that_compares_nothing_is_still_asked_to_save_and_only_for_the_agents_text(world: World) -> None:
    auto(world)
    world.script(
        read("a.py"), replace_line("a.py", 2, "agent"), COMMAND, [{"wait": 0.2}, *COMMAND], [{"text": "Done."}]
    )
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\n")

    def save(params: dict[str, Any]) -> dict[str, Any]:
        path.write_text(buffer.text)
        return {"results": [{"uri": uri, "status": "saved"} for uri in params["uris"]]}

    client.handlers["smith/saveBuffers"] = save
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    await client.event("tool_call_finished", name="bash")
    buffer.type("one\nagent\nmine\n")
    await turn
    assert path.read_text() == "one\nagent\n"
    first, second = (result["content"] for result in (await results(client))[-2:])
    assert "not on disk" not in first
    assert "not on disk: a.py (unsaved text of the user)" in second


@pytest.mark.parametrize("silent", ["smith/saveBuffers", "smith/readBuffer"])
async def test_a_cancel_does_not_wait_for_an_editor_that_is_silent_before_a_call(world: World, silent: str) -> None:
    saving = silent == "smith/saveBuffers"
    if saving:
        auto(world)
    waits = COMMAND if saving else [{"call": "write", "arguments": {"path": "ran", "content": "x"}}]
    world.script(read("a.py"), replace_line("a.py", 2, "agent"), waits, [{"text": "The next turn works."}])
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    Buffer(client, path, "one\ntwo\n")
    reached = asyncio.Event()

    async def never(params: dict[str, Any]) -> None:
        if saving or Path(params["real_path"]).name == "ran":
            reached.set()
            await asyncio.Event().wait()

    client.handlers[silent] = never
    turn = asyncio.ensure_future(client.run("smith.turn", text="change it"))
    if not saving:
        edit = await client.event("approval_asked", name="edit")
        await client.run("smith.answer", id=edit["id"], decision="yes")
    await asyncio.wait_for(reached.wait(), 10)
    began = time.monotonic()
    await client.run("smith.cancel")
    assert (await turn)["stop_reason"] == "cancelled"
    assert time.monotonic() - began < 1
    assert not (world.root / "ran").exists()
    assert (await client.run("smith.turn", text="again"))["text"] == "The next turn works."


async def test_an_edit_that_the_person_took_back_is_told_to_the_model(world: World, model: LLMock) -> None:
    world.use(model)
    auto(world)
    path = world.file("a.py", "one\ntwo\n")
    client = await world.server()
    buffer = Buffer(client, path, "one\ntwo\n")
    model.call_tool("read", {"path": "a.py"})
    model.call_tool("replace", {"path": "a.py", "old": "two", "new": "agent"})
    model.reply("Done.", times=2)
    await client.run("smith.turn", text="change it")
    buffer.type("one\ntwo\n")
    for hunk in (0, 1):
        client.notify("smith/changeState", {"change": buffer.asked[0]["change"], "hunk": hunk, "state": "undone"})
    await client.run("smith.turn", text="and now?")
    said = [message["content"] for message in model.last_request.body["messages"] if message["role"] == "user"]
    assert [text for text in said if "took your edit of a.py back" in text] == said[-1:]
