import pytest

from smith_server.core.errors import AgentFailure
from smith_server.policy.roles import ROLES, Role, active_role, resolve_role


def test_there_are_four_roles_in_one_order() -> None:
    assert [role.name for role in ROLES] == ["direct", "orchestrator", "worker", "explorer"]


@pytest.mark.parametrize(
    ("name", "alias", "user_facing", "targets"),
    [
        ("direct", "Smith", True, ("worker", "explorer")),
        ("orchestrator", "Tank", True, ("worker", "explorer")),
        ("worker", "Niobe", False, ("explorer",)),
        ("explorer", "Link", False, ()),
    ],
)
def test_each_role_has_its_name_for_people_its_text_and_its_targets(
    name: str, alias: str, user_facing: bool, targets: tuple[str, ...]
) -> None:
    role = resolve_role(name)

    assert role.about
    assert role == Role(name, alias, name, user_facing, targets, "default", about=role.about)


@pytest.mark.parametrize("name", ["", "Direct", "smith", "niobe", "wörker"])
def test_an_unknown_role_is_a_policy_error_that_names_the_known_ones(name: str) -> None:
    with pytest.raises(AgentFailure) as caught:
        resolve_role(name)

    error = caught.value.error
    assert (error.kind, error.code) == ("policy", "unknown_role")
    assert "direct, orchestrator, worker, explorer" in error.message


@pytest.mark.parametrize(
    ("asked", "configured", "name"),
    [
        ("worker", "orchestrator", "worker"),
        ("", "orchestrator", "orchestrator"),
        ("", "", "direct"),
    ],
    ids=["asked for with the turn", "configured", "neither"],
)
def test_the_role_of_a_turn_is_what_was_asked_else_configured_else_direct(
    asked: str, configured: str, name: str
) -> None:
    assert active_role(asked, configured).name == name


def test_a_further_role_is_found_among_the_others_and_borrows_its_rows() -> None:
    reviewer = Role("reviewer", "Reviewer", "reviewer", like="explorer")

    assert resolve_role("reviewer", (*ROLES, reviewer)).row == "explorer"
    assert [role.row for role in ROLES] == [role.name for role in ROLES]
