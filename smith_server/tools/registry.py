"""The tools by name, in the order in which a model is told of them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from smith_server.core.late import late
from smith_server.core.ports import Dispatcher, Memory, Scratchpad, Todos
from smith_server.core.report import ReportKind
from smith_server.core.tool import Tool
from smith_server.proc.jobs import Jobs, Owner
from smith_server.tools.bash import Bash, Limits
from smith_server.tools.bash_kill import BashKill
from smith_server.tools.bash_output import BashOutput
from smith_server.tools.code_files import CodeFiles
from smith_server.tools.code_grep import CodeGrep
from smith_server.tools.code_map import CodeMap
from smith_server.tools.code_outline import CodeOutline
from smith_server.tools.code_symbols import CodeSymbols
from smith_server.tools.dispatch import Dispatch
from smith_server.tools.edit import Edit
from smith_server.tools.exploring import Around, Exploring
from smith_server.tools.git import Git
from smith_server.tools.note import Note
from smith_server.tools.read import Read
from smith_server.tools.recall import Recall
from smith_server.tools.record import Record
from smith_server.tools.replace import Replace
from smith_server.tools.report import ReportTool
from smith_server.tools.todo_write import TodoWrite
from smith_server.tools.web_fetch import WebFetch
from smith_server.tools.web_search import WebSearch
from smith_server.tools.write import Write
from smith_server.workspace.texts import Texts

if TYPE_CHECKING:
    from smith_server.tools.web_guard import Guard

_git = late("smith_server.workspace.git:Git")


class Shell(Struct, frozen=True):
    """What commands are run with: the jobs of the conversation, whose they will be, and their limits."""

    jobs: Jobs
    owner: Owner
    limits: Limits


class Web(Struct, frozen=True):
    """What makes the guard of fetches, how much of a page is shown at most, the search tool where there is one."""

    guard: "Callable[[], Guard]"
    max_bytes: int
    search: WebSearch | None = None


class Parts(Struct, frozen=True):
    """What the tools of one actor are made of.

    `report` is the kind of a child's report, None for the conversation itself.
    """

    texts: Texts
    around: Around
    shell: Shell
    web: Web
    scratchpad: Scratchpad
    memory: Memory | None
    dispatcher: Dispatcher
    todos: Todos
    report: ReportKind | None = None


def all_tools(parts: Parts) -> Mapping[str, Tool]:
    """Every tool; the order never changes, so that a provider's cache of the list holds."""
    exploring = Exploring(parts.around)
    tools: list[Tool] = [
        Read(parts.texts),
        Edit(parts.texts),
        Replace(parts.texts),
        Write(parts.texts),
        CodeMap(exploring),
        CodeGrep(exploring),
        CodeFiles(exploring),
        CodeSymbols(exploring),
        CodeOutline(exploring),
        Git(partial(_git, parts.around.lookout)),
        Bash(parts.shell.jobs, parts.shell.owner, parts.shell.limits),
        BashOutput(parts.shell.jobs),
        BashKill(parts.shell.jobs),
        WebFetch(parts.web.guard, parts.web.max_bytes),
        *([parts.web.search] if parts.web.search is not None else []),
        TodoWrite(parts.todos),
        Record(parts.scratchpad),
        Recall(parts.scratchpad),
        Note(parts.memory),
        Dispatch(parts.dispatcher),
    ]
    if parts.report is not None:
        tools.append(ReportTool(parts.report))
    return {tool.name: tool for tool in tools}
