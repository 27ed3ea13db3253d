import re

import pytest

from smith_server.context.prompt import role_text
from smith_server.core.report import report_schema
from smith_server.policy.matrix import TOOLS, check_tool
from smith_server.policy.roles import ROLES, Role

CHILDREN = [role for role in ROLES if not role.user_facing]
TOOL_NAMES = {tool for tool, _ in TOOLS}


def names_in(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_role_has_a_text_of_moderate_length(role: Role) -> None:
    text = role_text(role.prompt_profile)

    assert text.startswith("You are smith")
    assert 500 < len(text) < 3500
    assert "\n\n\n" not in text


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_role_is_told_only_of_tools_that_it_may_use(role: Role) -> None:
    told = names_in(role_text(role.prompt_profile)) & TOOL_NAMES

    assert told
    assert {check_tool(role.name, tool) for tool in told} == {"allow"}


@pytest.mark.parametrize("role", CHILDREN, ids=lambda role: role.name)
def test_who_is_sent_is_told_that_only_a_report_ends_the_work_and_text_reaches_nobody(role: Role) -> None:
    text = role_text(role.prompt_profile)

    assert "Only `report` ends your work" in text
    assert "Text without a call is read by nobody." in text
    assert set(report_schema("worker")["properties"]["status"]["enum"]) <= names_in(text)


def test_the_explorer_is_told_to_change_nothing_and_to_give_evidence() -> None:
    text = role_text("explorer")

    assert "Create, change and delete no files." in text
    assert "Findings without evidence are refused." in text


def test_the_worker_may_send_an_explorer_and_the_explorer_nobody() -> None:
    assert "dispatch" in names_in(role_text("worker"))
    assert "dispatch" not in role_text("explorer")


def test_the_orchestrator_delegates_reviews_and_keeps_notes_and_changes_nothing() -> None:
    text = role_text("orchestrator")

    assert {"dispatch", "git", "record", "recall", "note"} <= names_in(text)
    assert "You change no file and run no command yourself." in text
