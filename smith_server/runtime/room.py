"""How many children there may be."""

import asyncio

from smith_server.config.schema.agent import Subagents
from smith_server.core.errors import AgentError, agent_error


class Room:
    """How many children one turn may have: side by side, in all on every level together, and how deep."""

    def __init__(self, settings: Subagents) -> None:
        self.parallel = asyncio.Semaphore(settings.max_parallel)
        self._left = settings.max_children
        self._depth = settings.max_depth
        self._is_off = not (settings.max_children and settings.max_depth)

    def is_closed_at(self, depth: int) -> bool:
        """Whether somebody at `depth` is so deep that they may never have a child."""
        return self._is_off or depth >= self._depth

    def take(self, depth: int) -> AgentError | None:
        """Make room for one more child of somebody at `depth`; why not, when there is none."""
        if self.is_closed_at(depth):
            text = "Nobody can be sent from here: this is as deep as delegation goes. Do the task yourself."
            return agent_error("policy", "nesting_limit", text)
        if not self._left:
            text = "All sub-agents of this prompt are used up. Do the task yourself."
            return agent_error("policy", "spawn_limit", text)
        self._left -= 1
        return None
