"""The service `tool`: the tools of whoever takes a turn, and the commands that they run."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from smith_server.core.late import late
from smith_server.core.messages import ToolSpec
from smith_server.core.tool import Tool, spec
from smith_server.policy.matrix import check_tool
from smith_server.policy.roles import Role
from smith_server.tools.announced import Announced
from smith_server.tools.exploring import Known
from smith_server.tools.registry import Parts, all_tools
from smith_server.tools.web_http import Wire

if TYPE_CHECKING:
    from smith_server.proc.jobs import Jobs
    from smith_server.proc.looking import Lookout
    from smith_server.runtime.shells import Shells

_shells: "Callable[..., Shells]" = late("smith_server.runtime.shells:Shells")


class Toolbox:
    """Holds what runs commands and what fetches pages.

    `hidden` names variables whose values no command may see, `logs` is where jobs write, `cache` where
    definitions are kept that were found (None: nowhere).
    """

    def __init__(self, hidden: Collection[str], logs: Path, cache: Path | None = None) -> None:
        self.wire = Wire()
        self.known = Known(cache / "symbols" if cache is not None else None)
        self._begin = partial(_shells, hidden, logs)
        self._shells: Shells | None = None
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

    def jobs(self, conversation: str) -> "Jobs":
        """The jobs of a conversation."""
        return self._begun().jobs(conversation)

    def lookout(self) -> "Lookout":
        """What runs programs of ours that only look."""
        return self._begun().processes.lookout

    async def forget_jobs(self, conversation: str) -> None:
        """A conversation is not open any more: end what runs in its background."""
        if self._shells is not None:
            await self._shells.forget_jobs(conversation)

    async def end_jobs(self) -> None:
        """End every command in the background."""
        if self._shells is not None:
            await self._shells.end_jobs()

    async def close(self) -> None:
        """End every command that still runs."""
        if self._shells is not None:
            await self._shells.close()

    def _begun(self) -> "Shells":
        if self._shells is None:
            self._shells = self._begin()
        return self._shells


def _spec(tool: Tool) -> ToolSpec:
    return tool.spec if isinstance(tool, Announced) else spec(tool)
