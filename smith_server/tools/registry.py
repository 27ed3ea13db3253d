"""The tools that work on this machine, by name, in the order in which a model is told of them."""

from collections.abc import Mapping

from msgspec import Struct

from smith_server.core.tool import Tool
from smith_server.proc.run import Processes
from smith_server.tools.bash import Bash
from smith_server.tools.edit import Edit
from smith_server.tools.read import Read
from smith_server.tools.replace import Replace
from smith_server.tools.write import Write
from smith_server.workspace.texts import Texts


class Local(Struct, frozen=True):
    """What these tools are made of; seconds and bytes bound a command."""

    texts: Texts
    processes: Processes
    command_seconds: float
    command_bytes: int


def local_tools(local: Local) -> Mapping[str, Tool]:
    """All of them; the order never changes, so that a provider's cache of the list holds."""
    tools: list[Tool] = [
        Read(local.texts),
        Edit(local.texts),
        Replace(local.texts),
        Write(local.texts),
        Bash(local.processes, local.command_seconds, local.command_bytes),
    ]
    return {tool.name: tool for tool in tools}
