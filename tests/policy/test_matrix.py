import itertools

import pytest

from smith_server.policy.matrix import EDGES, TOOLS, Gate, check_available, check_dispatch, check_tool
from smith_server.policy.roles import ROLES, resolve_role

NAMES = [role.name for role in ROLES]
CODE = {"code_map", "code_grep", "code_files", "code_symbols", "code_outline"}
DOCUMENTED = CODE | {"bash", "read", "git", "edit", "write", "web_search", "web_fetch", "report", "record", "recall"}
DOCUMENTED |= {"note", "dispatch"}
SHELL = {"bash", "bash_kill", "bash_output"}
WEB = {"web_search", "web_fetch"}
CHANGES = {"edit", "replace", "write"}
NOTES = {"record", "recall", "note"}

ALLOWED = {
    "direct": SHELL | CODE | CHANGES | WEB | NOTES | {"read", "dispatch", "todo_write"},
    "orchestrator": CODE | NOTES | {"read", "git", "dispatch", "todo_write"},
    "worker": SHELL | CODE | CHANGES | WEB | {"read", "report", "dispatch", "todo_write"},
    "explorer": SHELL | CODE | WEB | {"read", "report"},
}
TOOL_NAMES = {tool for tool, _ in TOOLS if not tool.startswith("mcp__")}


@pytest.mark.parametrize("role", NAMES)
def test_a_role_may_use_these_tools_and_no_other(role: str) -> None:
    assert {tool for tool in TOOL_NAMES if check_tool(role, tool) == "allow"} == ALLOWED[role]


@pytest.mark.parametrize(("role", "count"), [("direct", 15), ("orchestrator", 11), ("worker", 13), ("explorer", 10)])
def test_of_the_seventeen_documented_tools_a_role_may_use_so_many(role: str, count: int) -> None:
    assert len(DOCUMENTED) == 17
    assert sum(check_tool(role, tool) == "allow" for tool in DOCUMENTED) == count


def test_the_table_has_a_mark_for_every_tool_and_role() -> None:
    assert set(TOOLS) == set(itertools.product({tool for tool, _ in TOOLS}, NAMES))
    assert set(TOOLS.values()) == {"+", "-", "p"}
    assert set(EDGES) == set(itertools.product(NAMES, NAMES))
    assert set(EDGES.values()) == {"+", "-"}


def test_only_the_orchestrator_has_git_and_it_changes_nothing_and_runs_nothing() -> None:
    assert [role for role in NAMES if check_tool(role, "git") == "allow"] == ["orchestrator"]
    refused = [*SHELL, *CHANGES, *WEB, "mcp__any__tool"]
    assert {check_tool("orchestrator", tool) for tool in refused} == {"deny"}


def test_only_who_is_sent_reports_and_only_who_talks_to_a_person_keeps_notes() -> None:
    for role in ROLES:
        decisions = {check_tool(role.name, tool) for tool in NOTES}
        assert decisions == {"allow" if role.user_facing else "deny"}
        assert check_tool(role.name, "report") == ("deny" if role.user_facing else "allow")


@pytest.mark.parametrize("tool", ["", "BASH", "read_file", "mcp__", "mcp__server", "mcp____", "mcp", "bash ", "*"])
@pytest.mark.parametrize("role", NAMES)
def test_an_unknown_tool_is_denied(role: str, tool: str) -> None:
    assert check_tool(role, tool, planning=True) == "deny"


@pytest.mark.parametrize("role", ["", "Direct", "root", "*"])
def test_an_unknown_role_is_denied_everything(role: str) -> None:
    assert {check_tool(role, tool, planning=True) for tool in TOOL_NAMES} == {"deny"}
    assert {check_dispatch(role, name) for name in NAMES} == {"deny"}
    assert {check_dispatch(name, role) for name in NAMES} == {"deny"}


@pytest.mark.parametrize(
    ("role", "decision"), [("direct", "allow"), ("orchestrator", "deny"), ("worker", "allow"), ("explorer", "deny")]
)
def test_all_tools_of_tool_servers_have_one_row(role: str, decision: str) -> None:
    assert {check_tool(role, name) for name in ("mcp__files__read", "mcp__a__b__c", "mcp__x__any tool")} == {decision}


@pytest.mark.parametrize("role", NAMES)
def test_a_plan_is_ended_by_who_talks_to_a_person_and_only_while_planning(role: str) -> None:
    assert check_tool(role, "exit_plan_mode") == "deny"
    expected = "allow" if resolve_role(role).user_facing else "deny"
    assert check_tool(role, "exit_plan_mode", planning=True) == expected


def test_planning_allows_nothing_else() -> None:
    for role, tool in itertools.product(NAMES, TOOL_NAMES - {"exit_plan_mode"}):
        assert check_tool(role, tool, planning=True) == check_tool(role, tool)


def test_the_roles_and_the_table_name_the_same_targets() -> None:
    for role in ROLES:
        assert [name for name in NAMES if check_dispatch(role.name, name) == "allow"] == list(role.dispatch_targets)
        assert check_tool(role.name, "dispatch") == ("allow" if role.dispatch_targets else "deny")


def test_nobody_sends_their_own_role() -> None:
    assert {check_dispatch(name, name) for name in NAMES} == {"deny"}


def test_from_a_person_no_way_is_longer_than_two_dispatches() -> None:
    def depth(name: str) -> int:
        return max((1 + depth(target) for target in resolve_role(name).dispatch_targets), default=0)

    assert {role.name: depth(role.name) for role in ROLES if role.user_facing} == {"direct": 2, "orchestrator": 2}


def test_the_user_facing_roles_are_never_sent() -> None:
    targets = {target for role in ROLES for target in role.dispatch_targets}
    assert targets == {role.name for role in ROLES if not role.user_facing}


@pytest.mark.parametrize(
    ("gate", "passing"),
    [
        (Gate(), NAMES),
        (Gate(allowed=()), []),
        (Gate(allowed=("worker", "direct")), ["direct", "worker"]),
        (Gate(denied=("worker",)), ["direct", "orchestrator", "explorer"]),
        (Gate(allowed=("worker", "direct"), denied=("worker",)), ["direct"]),
    ],
    ids=["no lists", "nobody", "some", "all but one", "denied and allowed"],
)
def test_the_denied_are_denied_even_when_allowed_and_no_list_means_everybody(gate: Gate, passing: list[str]) -> None:
    assert [name for name in NAMES if gate.check(name) == "allow"] == passing


def test_a_gate_narrows_the_table_and_never_widens_it() -> None:
    everybody = Gate(allowed=tuple(NAMES))
    for role, tool in itertools.product(NAMES, TOOL_NAMES):
        assert check_available(role, tool, everybody) == check_tool(role, tool)
        assert check_available(role, tool, Gate(denied=(role,))) == "deny"
    assert check_available("direct", "exit_plan_mode", everybody, planning=True) == "allow"
