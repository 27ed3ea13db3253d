"""What any language client gets in documents: completion and lenses in prompts, actions on a selection."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.plain import Plain, plain
from tests.e2e.world import World

PROMPT = "smith"


@pytest.fixture
async def client(world: World) -> AsyncIterator[Plain]:
    made = Plain(world)
    yield made
    await made.lsp.shutdown_session()
    await made.lsp.stop()


def opened(client: Plain, path: Path, text: str, language: str = PROMPT) -> types.TextDocumentIdentifier:
    item = types.TextDocumentItem(path.as_uri(), language, 1, text)
    client.lsp.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return types.TextDocumentIdentifier(path.as_uri())


async def candidates(client: Plain, line: str, cursor: int | None = None) -> tuple[int, list[str]]:
    found = await client.command("smith.complete", line=line, cursor=len(line) if cursor is None else cursor)
    return found["start"], [each["text"] for each in found["candidates"]]


async def lenses(client: Plain, document: types.TextDocumentIdentifier) -> list[types.Command]:
    found = await client.lsp.text_document_code_lens_async(types.CodeLensParams(document))
    return [lens.command for lens in found or () if lens.command is not None]


async def done(client: Plain, command: types.Command) -> dict[str, Any]:
    params = types.ExecuteCommandParams(command.command, command.arguments)
    answer = await client.lsp.workspace_execute_command_async(params)
    return plain(answer)  # type: ignore[no-any-return]


async def message(client: Plain) -> str:
    async with asyncio.timeout(20):
        while not client.lsp.messages:
            await asyncio.sleep(0.02)
    return client.lsp.messages[-1].message


LINES = {
    "/sc": (0, ["/scratchpad "]),
    "/role ": (6, ["direct ", "orchestrator "]),
    "/role o": (6, ["orchestrator "]),
    "/model q": (7, ["qwen/small "]),
    "/config ": (8, ["get ", "set ", "unset "]),
    "/config set tool_s": (12, ["tool_step_budget "]),
    "/config set active_role d": (24, ["direct "]),
    "/config set context_management.enabled ": (39, ["true ", "false "]),
    "/config set default_model q": (26, ["qwen/small "]),
    "/memory g": (8, ["get "]),
    "/scratchpad get pl": (16, ["plan "]),
    "/search --": (8, ["--all "]),
    "/help x": (6, []),
    "/help co": (6, ["config ", "compact ", "context "]),
    "/no-such ": (9, []),
    "not a command": (13, []),
    "//role ": (7, []),
}


async def test_command_lines_are_completed(client: Plain, world: World) -> None:
    world.script()
    world.settings('[models]\nexplorer = "qwen/small"\n')
    await client.start()
    await client.command("smith.slash", line="/scratchpad set plan first this, then that")
    assert {line: await candidates(client, line) for line in LINES} == LINES


async def test_every_command_is_offered_with_a_sentence(client: Plain, world: World) -> None:
    world.script()
    await client.start()
    listed = (await client.command("smith.slash", line="/help"))["text"]
    found = (await client.command("smith.complete", line="/", cursor=1))["candidates"]
    told = {line.split()[0] for line in listed.splitlines() if line.startswith("/") and "<" not in line}
    assert {each["text"].strip() for each in found} == told
    assert all(each["detail"] for each in found)
    lengths = [len(each["text"]) for each in found]
    assert lengths == sorted(lengths)


async def test_what_stands_behind_the_cursor_is_left_alone(client: Plain, world: World) -> None:
    world.script()
    await client.start()
    assert await candidates(client, "/ro direct", 3) == (0, ["/role "])


async def test_stored_conversations_are_offered_by_their_titles(client: Plain, world: World) -> None:
    world.script([{"text": "Yes."}])
    await client.start()
    answer = await client.turn("is the sky blue?")
    found = (await client.command("smith.complete", line="/load ", cursor=6))["candidates"]
    assert found == [{"text": f"{answer['conversation'][:8]} ", "detail": "is the sky blue?"}]


async def test_a_prompt_document_completes_its_first_line_alone(client: Plain, world: World) -> None:
    world.script()
    await client.start()
    document = opened(client, world.root / "a.smith", "/ro 😀\n/ro")

    async def at(line: int, character: int) -> list[types.CompletionItem]:
        params = types.CompletionParams(document, types.Position(line, character))
        found = await client.lsp.text_document_completion_async(params)
        assert isinstance(found, types.CompletionList)
        return list(found.items)

    (item,) = await at(0, 3)
    assert item.label == "/role"
    assert item.text_edit == types.TextEdit(types.Range(types.Position(0, 0), types.Position(0, 3)), "/role ")
    assert await at(1, 3) == []
    other = opened(client, world.root / "a.py", "/ro", "python")
    params = types.CompletionParams(other, types.Position(0, 3))
    assert not (await client.lsp.text_document_completion_async(params)).items  # type: ignore[union-attr]


async def test_a_prompt_document_is_sent_by_its_lens(client: Plain, world: World) -> None:
    world.script([{"text": "Four."}])
    await client.start()
    document = opened(client, world.root / "question.smith", "what is two and two?\n", "plaintext")
    (send,) = await lenses(client, document)
    assert send.title == "Send"
    assert (await done(client, send))["turn"] == "t000001"
    assert await message(client) == "Four."
    listed = await client.command("smith.inspect", op="list")
    assert listed["messages"][0]["text"] == "what is two and two?"


async def test_a_command_in_a_prompt_document_is_run(client: Plain, world: World) -> None:
    world.script()
    await client.start()
    (run,) = await lenses(client, opened(client, world.root / "a.smith", "/role orchestrator\n"))
    assert (run.title, run.command, *(run.arguments or ())) == ("Run", "smith.slash", {"line": "/role orchestrator"})


async def test_while_a_turn_runs_a_lens_stops_it(client: Plain, world: World) -> None:
    world.script([{"text": "Let me think."}, {"wait": 60}])
    await client.start()
    document = opened(client, world.root / "a.smith", "think hard")
    turn = client.start_turn("t", "think")
    async with asyncio.timeout(20):
        while [each.title for each in await lenses(client, document)] != ["Send", "Cancel"]:
            await asyncio.sleep(0.02)
    cancel = (await lenses(client, document))[1]
    assert (await done(client, cancel))["cancelled"] is True
    assert (await turn)["stop_reason"] == "cancelled"
    assert [each.title for each in await lenses(client, document)] == ["Send"]


async def test_an_empty_prompt_document_cannot_be_sent(client: Plain, world: World) -> None:
    world.script()
    await client.start()
    document = opened(client, world.root / "a.smith", " \n")
    assert await lenses(client, document) == []
    with pytest.raises(Exception, match="nothing in it"):
        await client.command("smith.turn", document=document.uri)


def selected(document: types.TextDocumentIdentifier, *problems: types.Diagnostic) -> types.CodeActionParams:
    place = types.Range(types.Position(0, 0), types.Position(1, 0))
    return types.CodeActionParams(document, place, types.CodeActionContext(list(problems)))


async def actions(client: Plain, params: types.CodeActionParams) -> dict[str, types.Command]:
    found = await client.lsp.text_document_code_action_async(params)
    commands = [each.command for each in found or () if isinstance(each, types.CodeAction)]
    return {command.title: command for command in commands if command is not None}


async def test_a_selection_can_be_explained(client: Plain, world: World) -> None:
    world.script([{"text": "It adds."}])
    await client.start()
    document = opened(client, world.file("a.py", "x = 1 + 1\n"), "x = 1 + 2\n", "python")
    found = await actions(client, selected(document))
    assert list(found) == ["smith: explain this"]
    await done(client, found["smith: explain this"])
    assert await message(client) == "It adds."
    (prompt, _) = (await client.command("smith.inspect", op="list"))["messages"]
    attached = prompt["content"]["attached"]
    assert attached.startswith(f"[Selected in the editor: {world.root / 'a.py'}, lines 1-2]")
    assert "x = 1 + 2" in attached


async def test_problems_that_the_editor_shows_can_be_fixed(client: Plain, world: World) -> None:
    world.script([{"text": "Fixed."}])
    await client.start()
    document = opened(client, world.file("a.py", "x = y\n"), "x = y\n", "python")
    place = types.Range(types.Position(0, 4), types.Position(0, 5))
    problem = types.Diagnostic(place, "y is not defined", types.DiagnosticSeverity.Error, source="checker")
    found = await actions(client, selected(document, problem))
    assert list(found) == ["smith: fix these problems", "smith: explain this"]
    await done(client, found["smith: fix these problems"])
    assert await message(client) == "Fixed."
    (prompt, _) = (await client.command("smith.inspect", op="list"))["messages"]
    assert prompt["content"]["attached"].endswith("- line 1: error from checker: y is not defined")


async def test_a_client_gets_the_kinds_of_action_that_it_asks_for(client: Plain, world: World) -> None:
    world.script()
    await client.start()
    params = selected(opened(client, world.file("a.py", "x\n"), "x\n", "python"))
    params.context.only = [types.CodeActionKind.QuickFix]
    assert await actions(client, params) == {}
    params.context.only = [types.CodeActionKind.Refactor]
    assert list(await actions(client, params)) == ["smith: explain this"]


async def test_a_prompt_about_a_selection_opens_a_document(client: Plain, world: World) -> None:
    world.script([{"text": "Done."}])
    client.shows_documents = True
    await client.start()
    document = opened(client, world.file("a.py", "x = 1\n"), "x = 1\n", "python")
    await done(client, (await actions(client, selected(document)))["smith: edit this …"])
    (uri,) = (each.uri for each in client.lsp.shown_documents)
    item = types.TextDocumentItem(uri, "plaintext", 1, "make it two")
    client.lsp.text_document_did_open(types.DidOpenTextDocumentParams(item))
    (send,) = await lenses(client, types.TextDocumentIdentifier(uri))
    await done(client, send)
    assert await message(client) == "Done."
    (prompt, _) = (await client.command("smith.inspect", op="list"))["messages"]
    assert (prompt["text"], "x = 1" in prompt["content"]["attached"]) == ("make it two", True)
