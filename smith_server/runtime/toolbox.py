"""The service `tool`: the tools of whoever takes a turn, and the commands that they run."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from smith_server.core.messages import ToolSpec
from smith_server.core.tool import Tool, spec
from smith_server.policy.matrix import check_tool
from smith_server.policy.roles import Role
from smith_server.proc.guard import Guard
from smith_server.proc.jobs import Jobs
from smith_server.proc.log import LogFolder
from smith_server.proc.run import Processes
from smith_server.tools.announced import Announced
from smith_server.tools.exploring import Known
from smith_server.tools.registry import Parts, all_tools
from smith_server.tools.web_http import Wire


class Toolbox:
    """Holds what runs commands and what fetches pages.

    `hidden` names variables whose values no command may see, `logs` is where jobs write, `cache` where
    definitions are kept that were found (None: nowhere).
    """

    def __init__(self, hidden: Collection[str], logs: Path, cache: Path | None = None) -> None:
        self.wire = Wire()
        self.known = Known(cache / "symbols" if cache is not None else None)
        self._logs = LogFolder(logs)
        self._jobs: dict[str, Jobs] = {}
        self._guard = Guard()
        self.processes = Processes(self._guard, hidden)
        self._specs: dict[tuple[str, ...], tuple[ToolSpec, ...]] = {}

    def tools(self, parts: Parts) -> Mapping[str, Tool]:
        """The tools of one actor, by name."""
        return all_tools(parts)

    def offered(self, role: Role, tools: Mapping[str, Tool], without: Collection[str] = ()) -> tuple[ToolSpec, ...]:
        """What the model of a role is told of its tools; described once, as long as it is the same."""
        names = [name for name in tools if name not in without and check_tool(role.row, name) == "allow"]
        key = tuple(tools[name].text for name in names)
        if key not in self._specs:
            self._specs[key] = tuple(_spec(tools[name]) for name in names)
        return self._specs[key]

    def jobs(self, conversation: str) -> Jobs:
        """The jobs of a conversation."""
        if conversation not in self._jobs:
            self._jobs[conversation] = Jobs(self.processes, self._logs, f"{conversation}-")
        return self._jobs[conversation]

    async def forget_jobs(self, conversation: str) -> None:
        """A conversation is not open any more: end what runs in its background."""
        if (jobs := self._jobs.pop(conversation, None)) is not None:
            await jobs.close()

    async def end_jobs(self) -> None:
        """End every command in the background."""
        await asyncio.gather(*(jobs.close() for jobs in self._jobs.values()))

    async def close(self) -> None:
        """End every command that still runs."""
        await self.processes.close()
        self._guard.close()
        self._logs.close()


def _spec(tool: Tool) -> ToolSpec:
    return tool.spec if isinstance(tool, Announced) else spec(tool)
