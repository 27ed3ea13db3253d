"""The service `tool`: the tools of whoever takes a turn, and the commands that they run."""

from collections.abc import Collection, Mapping

from smith_server.core.messages import ToolSpec
from smith_server.core.tool import Tool, spec
from smith_server.policy.matrix import check_tool
from smith_server.policy.roles import Role
from smith_server.proc.guard import Guard
from smith_server.proc.run import Processes
from smith_server.tools.registry import Parts, all_tools


class Toolbox:
    """Holds what runs commands. `hidden` names variables whose values no command may see."""

    def __init__(self, hidden: Collection[str]) -> None:
        self._guard = Guard()
        self.processes = Processes(self._guard, hidden)
        self._specs: dict[tuple[object, ...], tuple[ToolSpec, ...]] = {}

    def tools(self, parts: Parts) -> Mapping[str, Tool]:
        """The tools of one actor, by name."""
        return all_tools(parts)

    def offered(
        self, role: Role, tools: Mapping[str, Tool], seconds: float, without: Collection[str] = ()
    ) -> tuple[ToolSpec, ...]:
        """What the model of a role is told of its tools; described once. `seconds` is what a command has by default."""
        names = [name for name in tools if name not in without and check_tool(role.row, name) == "allow"]
        key = (*names, seconds)
        if key not in self._specs:
            self._specs[key] = tuple(spec(tools[name]) for name in names)
        return self._specs[key]

    async def close(self) -> None:
        """End every command that still runs."""
        await self.processes.close()
        self._guard.close()
