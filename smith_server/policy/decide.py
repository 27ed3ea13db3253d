"""Whether a call may run, from its effect and the mode of approval. Pure: no files, no questions."""

from typing import Any, Literal

from smith_server.core.ports import Verdict
from smith_server.core.tool import Effect

_FREE = frozenset({Effect.READ, Effect.TALK, Effect.DELEGATE})


class ModePolicy:
    """Reading is free; everything else follows the mode: ask a person, or go ahead."""

    def __init__(self, mode: Literal["prompt", "auto"]) -> None:
        self._mode = mode

    def judge(self, name: str, effect: Effect, args: Any) -> Verdict:
        """Allow or ask; the reason names the setting that decided."""
        if effect in _FREE:
            return Verdict("allow", f"{name} changes nothing")
        if self._mode == "auto":
            return Verdict("allow", 'approval.mode = "auto"')
        return Verdict("ask", 'approval.mode = "prompt"')
