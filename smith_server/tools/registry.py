"""The tools by name, in the order in which a model is told of them."""

from collections.abc import Mapping

from msgspec import Struct

from smith_server.codebase.explorer import Explorer
from smith_server.core.ports import Dispatcher, Memory, Scratchpad
from smith_server.core.report import ReportKind
from smith_server.core.tool import Tool
from smith_server.proc.run import Processes
from smith_server.tools.bash import Bash
from smith_server.tools.code_files import CodeFiles
from smith_server.tools.code_grep import CodeGrep
from smith_server.tools.code_map import CodeMap
from smith_server.tools.code_outline import CodeOutline
from smith_server.tools.code_symbols import CodeSymbols
from smith_server.tools.dispatch import Dispatch
from smith_server.tools.edit import Edit
from smith_server.tools.git import Git
from smith_server.tools.note import Note
from smith_server.tools.read import Read
from smith_server.tools.recall import Recall
from smith_server.tools.record import Record
from smith_server.tools.replace import Replace
from smith_server.tools.report import ReportTool
from smith_server.tools.write import Write
from smith_server.workspace.git import Git as GitReader
from smith_server.workspace.texts import Texts


class Parts(Struct, frozen=True):
    """What the tools of one actor are made of; seconds and bytes bound a command.

    `report` is the kind of a child's report, None for the conversation itself.
    """

    texts: Texts
    explorer: Explorer
    processes: Processes
    scratchpad: Scratchpad
    memory: Memory | None
    dispatcher: Dispatcher
    command_seconds: float
    command_bytes: int
    report: ReportKind | None = None


def all_tools(parts: Parts) -> Mapping[str, Tool]:
    """Every tool; the order never changes, so that a provider's cache of the list holds."""
    tools: list[Tool] = [
        Read(parts.texts),
        Edit(parts.texts),
        Replace(parts.texts),
        Write(parts.texts),
        CodeMap(parts.explorer),
        CodeGrep(parts.explorer),
        CodeFiles(parts.explorer),
        CodeSymbols(parts.explorer),
        CodeOutline(parts.explorer),
        Git(GitReader(parts.processes.lookout)),
        Bash(parts.processes, parts.command_seconds, parts.command_bytes),
        Record(parts.scratchpad),
        Recall(parts.scratchpad),
        Note(parts.memory),
        Dispatch(parts.dispatcher),
    ]
    if parts.report is not None:
        tools.append(ReportTool(parts.report))
    return {tool.name: tool for tool in tools}
