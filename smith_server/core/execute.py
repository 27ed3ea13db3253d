"""One call, from the model's words to a result. Every call of every kind goes through here.

decode → policy → preview → approval → buffers → stored → run → result. The token is looked at
after every wait and once more in the loop step in which the tool begins. Every failure is a
result: a model is told what went wrong, a turn never dies of it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from smith_server.core import buffers
from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentError, AgentFailure, Cancelled, ToolRefusal, failure
from smith_server.core.events import CallFinished, CallProgressed, CallStarted, MessageAdded
from smith_server.core.interrupt import interrupted_by
from smith_server.core.messages import Call
from smith_server.core.ports import Emit, Question, Verdict
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Effect, Preview, Tool, ToolContext, ToolResult, decode_arguments

log = logging.getLogger(__name__)

MOST_CONTENT = 200_000
"""Characters of a result that are kept whatever the tool says; tools have limits of their own below this."""

MOST_TITLE = 120
_TELLING = ("command", "path", "pattern", "query", "url", "task", "name", "key", "id")

CANCELLED = "Not run: the user cancelled the turn."


async def execute(calls: Sequence[Call], turn: TurnInput, talk: Conversation, emit: Emit) -> None:
    """Run the calls of one reply in order, a result each; stops in front of the next one when cancelled."""
    for call in calls:
        if turn.token.requested:
            return
        began = time.monotonic()
        emit(started(call, turn.mask))
        result = bounded(await run_call(call, turn, emit), turn)
        emit(finished(call, result, int((time.monotonic() - began) * 1000)))
        message = talk.result(call, result.content, ok=result.ok, code=result.code, recall_key=result.recall_key)
        talk.add(message)
        emit(MessageAdded(message=message))


def started(call: Call, mask: Callable[[str], str] = str) -> CallStarted:
    """The event that opens a call."""
    return CallStarted(
        call_id=call.id, name=call.name, arguments=mask(call.arguments), title=mask(title_of(call.arguments))
    )


def title_of(arguments: str) -> str:
    """The most telling argument of a call, on one line of `MOST_TITLE` characters at most; "" when there is none."""
    try:
        given = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError):
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
        summary=result.summary or result.content.partition("\n")[0][:200],
        code=result.code,
        content=result.content,
        diff=result.diff,
        mutation=result.mutation,
        duration_ms=duration_ms,
    )


async def run_call(call: Call, turn: TurnInput, emit: Emit) -> ToolResult:
    """The whole pipeline for one call; a failure on the way becomes its result."""
    try:
        return await _pipeline(call, turn, emit)
    except Cancelled:
        return ToolResult(CANCELLED, "cancelled", ok=False, code="cancelled")
    except AgentFailure as problem:
        return refused(problem.error)


def refused(error: AgentError) -> ToolResult:
    """A failed call as a result: the code first, then what to do about it."""
    current = error.data.get("current")
    tail = f"\n\n{current}" if current else ""
    return ToolResult(f"{error.code}: {error.message}{tail}", error.message, ok=False, code=error.code)


def bounded(result: ToolResult, turn: TurnInput) -> ToolResult:
    """The result with secrets blanked and no longer than `MOST_CONTENT`."""
    content = turn.mask(result.content)
    if len(content) > MOST_CONTENT:
        left_out = len(content) - MOST_CONTENT
        content = f"{content[:MOST_CONTENT]}\n[{left_out} more characters left out]"
    return msgspec.structs.replace(
        result, content=content, summary=turn.mask(result.summary), diff=turn.mask(result.diff)
    )


async def _pipeline(call: Call, turn: TurnInput, emit: Emit) -> ToolResult:
    tool, args = _decode(call, turn)
    context = ToolContext(
        call.id, turn.token, turn.cwd, lambda text: emit(CallProgressed(call_id=call.id, text=turn.mask(text)))
    )
    verdict = turn.policy.judge(tool.name, tool.effect, args)
    if verdict.decision == "deny":
        raise failure("policy", "denied", f"This call is not allowed: {verdict.reason}")
    on_disk = tool.effect is Effect.EXECUTE
    saves = await buffers.to_save(turn) if on_disk else ()
    if verdict.decision == "ask":
        preview = await _guarded(tool.preview(args, context), tool.name)
        await _ask(
            call,
            preview,
            verdict,
            args,
            tuple(buffers.shown(each.path, turn.cwd) for each in saves if each.own_only),
            turn,
        )
    await buffers.save(turn, call.id, saves, tool.name)
    if tool.effect is not Effect.READ:
        await turn.stored()
    unsaved = await turn.editor.unsaved() if on_disk else ()
    mark = turn.editor.mark_disk()
    async with interrupted_by(turn.token):
        result = await _guarded(tool.run(args, context), tool.name)
    changed = list(dict.fromkeys([*result.touched, *turn.editor.changed_since(mark)]))
    event, left = buffers.after_disk(turn, changed, unsaved)
    if event is not None:
        emit(event)
    return _with_notes(result, left, buffers.not_on_disk(unsaved, turn.cwd))


def _decode(call: Call, turn: TurnInput) -> tuple[Tool, Any]:
    tool = turn.tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(turn.tools))
        raise ToolRefusal("unknown_tool", f"There is no tool {call.name!r}. The tools are: {known}.")
    try:
        return tool, decode_arguments(tool.args, call.arguments)
    except msgspec.ValidationError as problem:
        text = f"The arguments do not fit: {problem}. Call {tool.name} again with them corrected."
    except (msgspec.DecodeError, UnicodeError) as problem:
        text = f"The arguments are not a JSON object ({problem}). Call {tool.name} again with one."
    raise failure("schema", "invalid_arguments", text)


async def _ask(
    call: Call, preview: Preview, verdict: Verdict, args: Any, saves: tuple[str, ...], turn: TurnInput
) -> None:
    question = Question(
        call.id,
        call.name,
        turn.mask(preview.title),
        verdict.reason,
        turn.mask(preview.diff),
        msgspec.to_builtins(args),
        saves,
    )
    answer = await turn.approver.ask(question, turn.token)
    turn.token.check()
    if answer.decision in ("yes", "always"):
        return
    if answer.nobody:
        raise failure(
            "policy", "nobody_to_ask", f"This call needs a person's yes ({verdict.reason}) and nobody can be asked."
        )
    said = f" They say: {answer.feedback}" if answer.feedback else ""
    raise failure("policy", "refused", f"The user said no to this call.{said}")


async def _guarded(work: Any, name: str) -> Any:
    """A tool may raise what it likes; the turn sees a refusal and the log the rest."""
    try:
        return await work
    except AgentFailure:
        raise
    except Exception as problem:
        log.exception("tool %s failed", name)
        raise ToolRefusal("handler_error", f"{name} failed inside: {type(problem).__name__}: {problem}") from problem


def _with_notes(result: ToolResult, *notes: str) -> ToolResult:
    tail = "".join(f"\n[{note}]" for note in notes if note)
    return msgspec.structs.replace(result, content=result.content + tail) if tail else result
