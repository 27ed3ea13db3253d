import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from smith_server.core.events import ConfigChanged, Event
from smith_server.core.messages import UserMessage
from smith_server.runtime.line import Prompt
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session


async def said(services: Services, session: Session, text: str) -> None:
    ticket = await session.submit(Prompt(text))
    await ticket.done


async def test_resume_goes_back_to_the_conversation_before_this_one(services: Services, tmp_path: Path) -> None:
    first = await services.sessions.get("", tmp_path)
    assert (await services.run_line("/resume", first)).text == "There is no other conversation in this project."
    await said(services, first, "the first")
    second = await services.sessions.new(tmp_path)
    await said(services, second, "the second")
    result = await services.run_line("/resume", second)
    assert (result.text, result.data) == (f"Conversation {first.id}: the first", {"conversation": first.id})
    assert (await services.sessions.get("", tmp_path)).id == first.id


async def test_a_conversation_is_written_into_a_new_file(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    await said(services, session, "hello")
    result = await services.run_line("/export out.jsonl", session)
    path = tmp_path / "out.jsonl"
    records: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    assert result.text == f"{len(records)} records are in {path}."
    assert [each["kind"] for each in records[:3]] == ["conversation", "turn", "message"]
    again = await services.run_line("/export out.jsonl", session)
    assert again.error is not None
    assert again.error.code == "exists"
    assert len(path.read_text().splitlines()) == len(records)


async def test_a_file_that_cannot_be_written_is_said_so(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    await said(services, session, "hello")
    result = await services.run_line("/export no/such/folder.jsonl", session)
    assert result.error is not None
    assert result.error.code == "not_writable"


async def test_quit_is_for_the_face(services: Services, tmp_path: Path) -> None:
    result = await services.run_line("/quit", await services.sessions.get("", tmp_path))
    assert (result.error, result.data) == (None, {"quit": True})


async def test_what_is_chosen_before_the_first_prompt_is_kept(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    for line in ("/rename my plan", "/role orchestrator", "/model small", "/scratchpad set a b"):
        assert (await services.run_line(line, session)).error is None
    (header,) = await services.library.listed(tmp_path, 10)
    assert (header.id, header.title, header.role, header.model) == (session.id, "my plan", "orchestrator", "small")
    await said(services, session, "go")
    (header,) = await services.library.listed(tmp_path, 10)
    assert (header.title, header.message_count) == ("my plan", 2)


async def test_words_of_a_line_are_parted_by_any_blank_and_a_value_stays_as_it_was_typed(
    services: Services, tmp_path: Path
) -> None:
    session = await services.sessions.get("", tmp_path)
    assert (await services.run_line("/scratchpad\tset\n plan\ta  b\n c", session)).error is None
    assert (await services.run_line("  /scratchpad get\tplan ", session)).text == "a  b\n c"
    assert (await services.run_line("/config\tset\tempty_response_retry_backoff_ms [1,\t2]", session)).error is None
    settings = services.handles.config.settings(tmp_path)
    assert tuple(settings.empty_response_retry_backoff_ms) == (1, 2)


async def test_a_command_of_the_person_shows_what_it_wrote(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    result = await services.run_line("/cmd echo one; pwd; exit 3", session)
    assert (result.text, result.data["ok"]) == (f"one\n{tmp_path}\n[exit code 3]", True)
    await said(services, session, "hello")
    (prompt, _) = session.talk.messages
    assert prompt == UserMessage(prompt.id, "hello")


async def test_what_a_command_wrote_goes_with_the_next_prompt_and_no_other(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    result = await services.run_line("/cmd+ echo one", session)
    assert result.text == "one\n[The next prompt carries this.]"
    await said(services, session, "what is it?")
    await said(services, session, "and now?")
    prompts = [message for message in session.talk.messages if isinstance(message, UserMessage)]
    assert [(each.text, each.attached) for each in prompts] == [
        ("what is it?", "[The user ran a command: echo one]\none"),
        ("and now?", ""),
    ]


async def test_a_cancel_ends_a_command_of_the_person(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    running = asyncio.ensure_future(services.run_line("/cmd echo on; touch began; sleep 60", session))
    async with asyncio.timeout(20):
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.02)
    assert services.running("", "") is session
    outcome = await session.cancel()
    assert (outcome.cancelled, outcome.killed) == (True, ("$ echo on; touch began; sleep 60",))
    assert "cancelled" in (await running).text
    assert services.running("", "") is None


async def test_a_command_ends_with_whoever_waits_for_it(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    running = asyncio.ensure_future(services.run_line("/cmd touch began; sleep 60; touch late", session))
    async with asyncio.timeout(20):
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not session.errands


async def test_a_fork_goes_on_in_a_copy(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    await said(services, session, "hello")
    result = await services.run_line("/fork", session)
    copy = services.sessions.known(result.data["conversation"])
    assert copy is not None
    assert copy is not session
    assert [message.id for message in copy.talk.messages] == [message.id for message in session.talk.messages]
    await said(services, copy, "more")
    assert (len(session.talk.messages), copy.talk.messages[2]) == (2, UserMessage("t000002.0001", "more"))


async def test_a_conversation_of_another_folder_is_loaded_where_it_is_or_moved_here(
    services: Services, tmp_path: Path
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    other = await services.sessions.get("", there)
    await said(services, other, "hello")
    session = await services.sessions.get("", here)
    assert (await services.run_line(f"/load {other.id[:8]}", session)).data == {"conversation": other.id}
    loaded = services.sessions.known(other.id)
    assert loaded is not None
    assert loaded.root == there
    await services.run_line(f"/load --here {other.id}", session)
    moved = services.sessions.known(other.id)
    assert moved is not None
    assert moved.root == here


async def test_a_setting_that_was_changed_is_an_event(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    seen: list[Event] = []
    services.bus.subscribe(lambda envelope: seen.append(envelope.event))
    for line in ("/config set tool_step_budget 9", "/config get tool_step_budget", "/config unset tool_step_budget"):
        assert (await services.run_line(line, session)).error is None
    await services.bus.told()
    assert [event for event in seen if isinstance(event, ConfigChanged)] == [ConfigChanged("tool_step_budget")] * 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("/history ²", "invalid_arguments"),
        ("/history 9223372036854775808", "invalid_arguments"),
        ("/export x\0y", "not_writable"),
        ("/load --herefoo", "not_found"),
        ("/config set contxt.foo 1", "not_overridable"),
    ],
)
async def test_odd_words_are_refused_and_not_stumbled_over(
    services: Services, tmp_path: Path, line: str, code: str
) -> None:
    session = await services.sessions.get("", tmp_path)
    await said(services, session, "hello")
    result = await services.run_line(line, session)
    assert result.error is not None
    assert result.error.code == code


async def test_a_prompt_that_is_dropped_gives_back_what_it_carried(services: Services, tmp_path: Path) -> None:
    session = await services.sessions.get("", tmp_path)
    await services.run_line("/cmd+ echo PRECIOUS", session)
    first = session.submit(Prompt("one"))
    running = await first
    assert running.prompt.carried
    await running.done
    await services.run_line("/cmd+ echo AGAIN", session)
    await session.submit(Prompt("two"))
    session.line.attach("[left for the next]")
    waiting = await session.submit(Prompt("three"))
    assert waiting.waited
    await session.cancel()
    later = await session.submit(Prompt("four"))
    assert later.prompt.attached == "[left for the next]"
