import pytest

from smith_server.core.tool import Effect
from smith_server.policy.decide import RolePolicy

EFFECTS = {
    "read": Effect.READ,
    "bash_output": Effect.READ,
    "todo_write": Effect.TALK,
    "web_search": Effect.NETWORK,
    "bash": Effect.EXECUTE,
    "bash_kill": Effect.EXECUTE,
    "edit": Effect.EDIT,
    "web_fetch": Effect.NETWORK,
}


@pytest.mark.parametrize("mode", ["prompt", "auto"])
def test_what_changes_something_or_goes_to_a_stranger_follows_the_mode_and_the_rest_is_free(mode: str) -> None:
    policy = RolePolicy("direct", mode)  # type: ignore[arg-type]
    decided = {name: policy.judge(name, effect, None).decision for name, effect in EFFECTS.items()}
    asked = "ask" if mode == "prompt" else "allow"
    free = dict.fromkeys(("read", "bash_output", "todo_write", "web_search"), "allow")
    assert decided == free | dict.fromkeys(("bash", "bash_kill", "edit", "web_fetch"), asked)


def test_what_the_role_has_not_is_denied_in_every_mode() -> None:
    assert RolePolicy("explorer", "auto").judge("todo_write", Effect.TALK, None).decision == "deny"
    assert RolePolicy("orchestrator", "auto").judge("web_search", Effect.NETWORK, None).decision == "deny"
