"""What a turn runs in: named, frozen, inherited by children."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from smith_server.context.prompt import role_text
from smith_server.core.errors import AgentFailure, failure
from smith_server.core.ports import Entry
from smith_server.policy.roles import resolve_role
from smith_server.runtime.execution import ExecutionContext, Scope, context_for
from smith_server.runtime.handles import NAMES
from smith_server.runtime.prompts import Prompts
from smith_server.runtime.services import Services
from smith_server.store.keys import checked
from smith_server.workspace.project import Project


def context(services: Services, folder: Path) -> ExecutionContext:
    loaded = services.handles.config.loaded(folder)
    return context_for("c1", "direct", loaded, services.handles.by_name())


def test_a_turn_knows_its_session_its_conversation_its_role_the_settings_and_the_services(
    services: Services, tmp_path: Path
) -> None:
    made = context(services, tmp_path)
    assert (made.session_id, made.conversation_id, made.active_role) == ("session-c1", "c1", "direct")
    assert made.config_snapshot["defaults"]["provider"] == made.settings.defaults.provider == "scripted"
    assert set(made.service_handles) == set(NAMES)


def test_nothing_in_it_can_be_written(services: Services, tmp_path: Path) -> None:
    made: Any = context(services, tmp_path)
    with pytest.raises(AttributeError):
        made.active_role = "orchestrator"
    for table in (made.config_snapshot, made.config_snapshot["defaults"], made.service_handles):
        with pytest.raises(TypeError):
            table["provider"] = "another"
    with pytest.raises(AttributeError):
        made.settings.defaults.provider = "another"


def test_a_child_has_names_of_its_own_and_inherits_the_rest(services: Services, tmp_path: Path) -> None:
    made = context(services, tmp_path)
    child = made.of_child("job1", "explorer")
    assert (child.session_id, child.conversation_id, child.active_role) == (
        "session-child-job1",
        "c1:child:job1",
        "explorer",
    )
    assert child.settings is made.settings
    assert child.config_snapshot is made.config_snapshot
    assert child.service_handles is made.service_handles


def test_the_conversation_of_a_child_is_one_in_memory_alone(services: Services, tmp_path: Path) -> None:
    with pytest.raises(AgentFailure) as raised:
        checked(context(services, tmp_path).of_child("job1", "worker").conversation_id)
    assert (raised.value.error.kind, raised.value.error.code) == ("persistence", "invalid_key")


async def test_a_role_without_notes_has_no_memory_command(services: Services, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = https://github.com/acme/widgets\n')
    session = await services.sessions.get("", tmp_path)
    assert (await services.run_line("/memory", session)).text == "no notes"
    session.role = "explorer"
    error = (await services.run_line("/memory", session)).error
    assert error is not None
    assert (error.kind, error.code) == ("policy", "permission_denied")


class Forgetful:
    """A memory whose store does not answer."""

    async def list(self) -> Sequence[Entry]:
        raise failure("persistence", "unavailable", "The store is closed.")

    async def get(self, key: str) -> str | None:
        return None

    async def upsert(self, key: str, content: str) -> None:
        return None

    async def delete(self, key: str) -> bool:
        return False


@pytest.mark.parametrize("memory", [None, Forgetful()], ids=["no project", "a store that fails"])
async def test_a_prompt_is_made_without_memories_when_they_cannot_be_had(memory: Any, tmp_path: Path) -> None:
    scope = Scope(tmp_path, Project(tmp_path, "o", "c", "id"))
    text = await Prompts().build(resolve_role("worker"), scope, memory, "INDEX.md")
    assert text.startswith(role_text("worker"))
    assert "Project memory index" not in text


async def test_a_prompt_follows_its_index_file(tmp_path: Path) -> None:
    prompts, scope = Prompts(), Scope(tmp_path, Project(tmp_path))
    assert "begin" not in await prompts.build(resolve_role("direct"), scope, None, "INDEX.md")
    (tmp_path / "INDEX.md").write_text("begin here")
    first = await prompts.build(resolve_role("direct"), scope, None, "INDEX.md")
    (tmp_path / "INDEX.md").write_text("begin there, rather")
    second = await prompts.build(resolve_role("direct"), scope, None, "INDEX.md")
    assert ("begin here" in first, "begin there" in second) == (True, True)
