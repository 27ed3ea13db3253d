"""The tools by name, in the order in which a model is told of them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from smith_server.core.late import late
from smith_server.core.ports import Dispatcher, Memory, Scratchpad, Todos
from smith_server.core.report import ReportKind
from smith_server.core.tool import Tool
from smith_server.tools.announced import Announced
from smith_server.tools.exploring import Around, Exploring
from smith_server.tools.limits import Limits

if TYPE_CHECKING:
    from smith_server.proc.jobs import Jobs, Owner
    from smith_server.tools.web_guard import Guard
    from smith_server.tools.web_search import WebSearch
    from smith_server.workspace.texts import Texts

_git_reader = late("smith_server.workspace.git:Git")
_read = late("smith_server.tools.read:Read")
_edit = late("smith_server.tools.edit:Edit")
_replace = late("smith_server.tools.replace:Replace")
_write = late("smith_server.tools.write:Write")
_code_map = late("smith_server.tools.code_map:CodeMap")
_code_grep = late("smith_server.tools.code_grep:CodeGrep")
_code_files = late("smith_server.tools.code_files:CodeFiles")
_code_symbols = late("smith_server.tools.code_symbols:CodeSymbols")
_code_outline = late("smith_server.tools.code_outline:CodeOutline")
_git = late("smith_server.tools.git:Git")
_bash = late("smith_server.tools.bash:Bash")
_bash_output = late("smith_server.tools.bash_output:BashOutput")
_bash_kill = late("smith_server.tools.bash_kill:BashKill")
_web_fetch = late("smith_server.tools.web_fetch:WebFetch")
_todo_write = late("smith_server.tools.todo_write:TodoWrite")
_record = late("smith_server.tools.record:Record")
_recall = late("smith_server.tools.recall:Recall")
_note = late("smith_server.tools.note:Note")
_dispatch = late("smith_server.tools.dispatch:Dispatch")
_report = late("smith_server.tools.report:ReportTool")


class Shell(Struct, frozen=True):
    """What commands are run with: what gives the jobs of the conversation and whose they will be, and their limits."""

    jobs: "Callable[[], Jobs]"
    owner: "Callable[[], Owner]"
    limits: Limits


class Web(Struct, frozen=True):
    """What makes the guard of fetches, how much of a page is shown at most, the search tool where there is one."""

    guard: "Callable[[], Guard]"
    max_bytes: int
    search: "WebSearch | None" = None


class Parts(Struct, frozen=True):
    """What the tools of one actor are made of.

    `texts` makes the texts, or gives those that were made. `report` is the kind of a child's report, None for the
    conversation itself.
    """

    texts: "Callable[[], Texts]"
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
    jobs, owner, limits = parts.shell.jobs, parts.shell.owner, parts.shell.limits
    tools: list[Tool] = [
        Announced("read", lambda: _read(parts.texts())),
        Announced("edit", lambda: _edit(parts.texts())),
        Announced("replace", lambda: _replace(parts.texts())),
        Announced("write", lambda: _write(parts.texts())),
        Announced("code_map", lambda: _code_map(exploring)),
        Announced("code_grep", lambda: _code_grep(exploring)),
        Announced("code_files", lambda: _code_files(exploring)),
        Announced("code_symbols", lambda: _code_symbols(exploring)),
        Announced("code_outline", lambda: _code_outline(exploring)),
        Announced("git", lambda: _git(_git_reader(parts.around.lookout()))),
        Announced("bash", lambda: _bash(jobs(), owner(), limits), limits.told),
        Announced("bash_output", lambda: _bash_output(jobs())),
        Announced("bash_kill", lambda: _bash_kill(jobs())),
        Announced("web_fetch", lambda: _web_fetch(parts.web.guard(), parts.web.max_bytes)),
        *([parts.web.search] if parts.web.search is not None else []),
        Announced("todo_write", lambda: _todo_write(parts.todos)),
        Announced("record", lambda: _record(parts.scratchpad)),
        Announced("recall", lambda: _recall(parts.scratchpad)),
        Announced("note", lambda: _note(parts.memory)),
        Announced("dispatch", lambda: _dispatch(parts.dispatcher)),
    ]
    if parts.report is not None:
        tools.append(_report(parts.report))
    return {tool.name: tool for tool in tools}
