"""Whether a call may run: the role's table first, then the effect and the mode of approval. Pure."""

from typing import Any, Literal

from smith_server.core.ports import Verdict
from smith_server.core.tool import Effect
from smith_server.policy.matrix import check_tool

_ASKED = frozenset({Effect.EDIT, Effect.EXECUTE, Effect.NETWORK})
_FREE = frozenset({"web_search"})
"""Tools that are free whatever their effect: a search goes to the service that the person has set up."""


class RolePolicy:
    """What the table denies a role is denied whatever else holds; reading and talking are free; the rest
    follows the mode: ask a person, or go ahead."""

    def __init__(self, role: str, mode: Literal["prompt", "auto"]) -> None:
        self._role = role
        self._mode = mode

    def judge(self, name: str, effect: Effect, args: Any) -> Verdict:
        """Allow, ask or deny; the reason names what decided."""
        if check_tool(self._role, name) == "deny":
            return Verdict("deny", f"the role {self._role} has no {name}")
        if effect not in _ASKED or name in _FREE:
            return Verdict("allow", f"{name} changes nothing")
        if self._mode == "auto":
            return Verdict("allow", 'approval.mode = "auto"')
        return Verdict("ask", 'approval.mode = "prompt"')
