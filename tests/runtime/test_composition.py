import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from smith_server.config.paths import Places
from smith_server.core.cancel import CancelToken
from smith_server.core.editor import Editor
from smith_server.core.errors import AgentFailure, failure
from smith_server.core.events import Envelope, PersistenceFailed
from smith_server.core.ports import Approver
from smith_server.runtime.composition import FACTORIES, Factory, Making, compose
from smith_server.runtime.handles import NAMES, Handles
from smith_server.runtime.line import Prompt
from smith_server.runtime.options import Options
from smith_server.runtime.services import Services
from smith_server.runtime.session import Session
from smith_server.runtime.unattended import Nobody, NoEditor
from smith_server.store.db import Database

TEN = ("role", "model", "tool", "dispatch", "conversation", "persistence", "config", "ui", "prompt", "command")
SCRIPT = '[[{"text": "Hello."}]]'


class Face:
    name = "a test"

    def editor(self, session: Session) -> Editor:
        return NoEditor()

    def approver(self, session: Session) -> Approver:
        return Nobody()


def options_in(folder: Path, **more: Any) -> Options:
    places = Places(folder / "config", folder / "data", folder / "state")
    folder.mkdir(exist_ok=True)
    (folder / "script.json").write_text(SCRIPT)
    environ = {"SMITH_SCRIPT": str(folder / "script.json")}
    return Options(places, environ, {"defaults": {"provider": "scripted"}}, **more)


async def opened(options: Options, made: list[str] | None = None) -> Services:
    def seen(name: str, factory: Factory) -> Factory:
        async def make(making: Making) -> Any:
            if made is not None:
                made.append(name)
            return await factory(making)

        return make

    return await compose(options, Face(), {name: seen(name, factory) for name, factory in FACTORIES.items()})


def test_there_are_ten_services() -> None:
    assert NAMES == TEN


@pytest.mark.parametrize("name", TEN)
async def test_a_service_that_is_handed_in_is_not_made(name: str, tmp_path: Path) -> None:
    services = await opened(options_in(tmp_path / "one"))
    own = getattr(services.handles, name)
    made: list[str] = []
    again = await opened(options_in(tmp_path / "two", service_handles={name: own}), made)
    assert sorted(made) == sorted(set(TEN) - {name})
    assert getattr(again.handles, name) is own
    await again.close()
    await services.close()


async def test_a_factory_gets_the_options_of_its_service(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    async def make(making: Making) -> Any:
        seen.update(making.options)
        return await FACTORIES["tool"](making)

    options = options_in(tmp_path)
    flags = {**options.flags, "services": {"tool": {"web_search": {"depth": "deep"}}}}
    options = msgspec.structs.replace(options, flags=flags)
    services = await compose(options, Face(), {**FACTORIES, "tool": make})
    assert seen["web_search"]["depth"] == "deep"
    await services.close()


def test_a_handle_is_given_once_and_stays() -> None:
    handles = Handles()
    handles.ui = Face()
    for change in (lambda: setattr(handles, "ui", Face()), lambda: delattr(handles, "ui")):
        with pytest.raises(AttributeError):
            change()
    with pytest.raises(AttributeError):
        handles.printer = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        handles.by_name()["ui"] = Face()  # type: ignore[index]


async def test_a_command_service_of_another_makes_the_commands(tmp_path: Path) -> None:
    async def run(line: str, session: Session, services: Services) -> str:
        return f"{line} in {session.root.name}"

    handles = {"command": SimpleNamespace(run=run, names=lambda: ())}
    services = await opened(options_in(tmp_path, service_handles=handles))
    session = await services.sessions.get("", tmp_path)
    assert await services.run_line("/anything", session) == f"/anything in {tmp_path.name}"
    await services.close()


async def test_a_turn_keeps_the_settings_that_it_began_with(tmp_path: Path) -> None:
    services = await opened(options_in(tmp_path))
    session = await services.sessions.get("", tmp_path)
    turn = await services._assembler.turn_input(session, Prompt("hi"), CancelToken())
    settings = services.handles.config.settings(tmp_path)
    await services.handles.config.override({"tool_step_budget": 3})
    assert (settings.tool_step_budget, turn.budget.max_steps) == (None, None)
    assert services.handles.config.settings(tmp_path).tool_step_budget == 3
    await services.close()


async def test_a_closed_conversation_takes_no_prompt(tmp_path: Path) -> None:
    services = await opened(options_in(tmp_path))
    session = await services.sessions.get("", tmp_path)
    assert (session.life.status, session.life.stopped_at) == ("running", 0.0)
    await services.close("the test is over")
    assert (session.life.status, session.life.stop_reason) == ("stopped", "the test is over")
    with pytest.raises(AgentFailure) as problem:
        await session.submit(Prompt("more"))
    assert (problem.value.error.kind, problem.value.error.code) == ("internal", "session_state")


class Full:
    """A store whose disk is full as soon as somebody says so."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.warnings = database.warnings
        self.is_full = False
        self.is_closed = False

    async def call(self, work: Any) -> Any:
        if self.is_full:
            raise failure("persistence", "full", "The disk is full.")
        return await self._database.call(work)

    def ask(self, work: Any) -> Any:
        return asyncio.ensure_future(self.call(work))

    async def close(self) -> None:
        self.is_closed = True
        await self._database.close()


async def test_what_could_not_be_stored_is_said_when_everything_is_closed(tmp_path: Path) -> None:
    store = Full(await Database.open(None))
    services = await opened(options_in(tmp_path, service_handles={"persistence": store}))
    session = await services.sessions.get("", tmp_path)
    store.is_full = True
    ticket = await session.submit(Prompt("hi"))
    assert (await ticket.done).text == "Hello."
    with pytest.raises(AgentFailure) as problem:
        await services.close()
    assert (problem.value.error.kind, problem.value.error.code) == ("persistence", "not_stored")
    assert store.is_closed


@contextmanager
def hanging(database: Database) -> Iterator[None]:
    """Its disk does not answer any more."""
    gate = threading.Event()
    database.ask(lambda connection: gate.wait(60))
    yield
    gate.set()


async def test_what_a_store_that_hangs_has_not_answered_for_is_said_as_well(tmp_path: Path) -> None:
    database = await Database.open(None, patience=0.2)
    services = await opened(options_in(tmp_path, service_handles={"persistence": database}))
    heard: list[Envelope] = []
    services.bus.subscribe(heard.append)
    session = await services.sessions.get("", tmp_path)
    with hanging(database):
        ticket = await session.submit(Prompt("hi"))
        await ticket.done
        with pytest.raises(AgentFailure) as problem:
            await services.close()
    assert (problem.value.error.kind, problem.value.error.code) == ("persistence", "not_stored")
    assert "unavailable" in [one.event.error.code for one in heard if isinstance(one.event, PersistenceFailed)]


async def test_a_turn_that_waits_for_a_store_that_hangs_can_be_stopped(tmp_path: Path) -> None:
    database = await Database.open(None, patience=60)
    services = await opened(options_in(tmp_path, service_handles={"persistence": database}))
    session = await services.sessions.get("", tmp_path)
    with hanging(database):
        ticket = await session.submit(Prompt("hi"))
        await ticket.begun
        began = time.monotonic()
        assert (await session.cancel()).cancelled
        assert time.monotonic() - began < 1
        assert (await ticket.done).stop_reason == "cancelled"
    await services.close()
