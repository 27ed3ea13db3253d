"""A call and what became of it, as people, stores and models are told: events, message, result."""

from collections.abc import Callable

import msgspec

from smith_server.core.errors import AgentError
from smith_server.core.events import CallFinished, CallStarted
from smith_server.core.messages import Call, ToolMessage
from smith_server.core.tool import ToolResult

MOST_CONTENT = 200_000
"""Characters of a result that are kept whatever the tool says; tools have limits of their own below this."""

MOST_TITLE = 120
_MOST_BRIEF = 200
_TELLING = ("command", "path", "pattern", "query", "url", "task", "name", "key", "id")


def started(call: Call, mask: Callable[[str], str] = str) -> CallStarted:
    """The event that opens a call."""
    return CallStarted(
        call_id=call.id, name=call.name, arguments=mask(call.arguments), title=mask(title_of(call.arguments))
    )


def title_of(arguments: str) -> str:
    """The most telling argument of a call, on one line of `MOST_TITLE` characters at most; "" when there is none."""
    try:
        given = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    if not isinstance(given, dict):
        return ""
    found = next((given[name] for name in _TELLING if isinstance(given.get(name), str)), "")
    line = " ".join(found.split())
    return line if len(line) <= MOST_TITLE else f"{line[: MOST_TITLE - 1]}…"


def finished(call: Call, result: ToolResult, duration_ms: int = 0) -> CallFinished:
    """The event that closes a call."""
    return CallFinished(
        call_id=call.id,
        name=call.name,
        ok=result.ok,
        summary=brief(result.summary, result.content),
        code=result.code,
        content=result.content,
        diff=result.diff,
        mutation=result.mutation,
        duration_ms=duration_ms,
    )


def brief(summary: str, content: str) -> str:
    """What became of a call in one line: what its tool says, else the beginning of the result."""
    return summary or content.partition("\n")[0][:_MOST_BRIEF]


def answered(name: str, call: Call, result: ToolResult) -> ToolMessage:
    """The result as a message with the id `name`."""
    return ToolMessage(
        name, call.id, call.name, result.content, result.ok, result.code, result.recall_key, result.summary, result.diff
    )


def refused(error: AgentError) -> ToolResult:
    """A failed call as a result: the code first, then what to do about it. The person reads what the error calls
    `brief`, where its message is advice for the model."""
    current = error.data.get("current")
    tail = f"\n\n{current}" if current else ""
    summary = str(error.data.get("brief") or error.message)
    return ToolResult(f"{error.code}: {error.message}{tail}", summary, ok=False, code=error.code)


def bounded(result: ToolResult, mask: Callable[[str], str]) -> ToolResult:
    """The result with secrets blanked and no longer than `MOST_CONTENT`."""
    content = mask(result.content)
    if len(content) > MOST_CONTENT:
        left_out = len(content) - MOST_CONTENT
        content = f"{content[:MOST_CONTENT]}\n[{left_out} more characters left out]"
    return msgspec.structs.replace(result, content=content, summary=mask(result.summary), diff=mask(result.diff))
