"""One call, from the model's words to a result. Every call of every kind goes through here.

decode → policy → preview → approval → buffers → stored → run → result. The token is looked at
after every wait and once more in the loop step in which the tool begins. Every failure is a
result: a model is told what went wrong, a turn never dies of it.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from smith_server.core import buffers
from smith_server.core.budget import Budget, refusal
from smith_server.core.calls import answered, bounded, brief, finished, refused, started
from smith_server.core.conversation import Conversation
from smith_server.core.editor import OpenText
from smith_server.core.errors import AgentFailure, Cancelled, ToolRefusal, agent_error, failure
from smith_server.core.events import CallProgressed, MessageAdded
from smith_server.core.interrupt import interrupted_by
from smith_server.core.messages import Call
from smith_server.core.ports import Emit, Question
from smith_server.core.scope import TurnInput
from smith_server.core.tool import Effect, Tool, ToolContext, ToolResult, decode_arguments

log = logging.getLogger(__name__)

CANCELLED = "Not run: the user cancelled the turn."


class Executed(Struct, frozen=True):
    """What became of the calls of one reply: the budget afterwards, and whether a report ended the turn."""

    budget: Budget
    reported: bool = False


async def execute(calls: Sequence[Call], turn: TurnInput, talk: Conversation, emit: Emit, budget: Budget) -> Executed:
    """Run the calls of one reply and append one result each, in call order.

    Neighbours that may run side by side do, everything else runs alone and in order. Stops in front of
    the next group when cancelled, and behind a report.
    """
    for group in _groups(calls, turn):
        if turn.token.requested:
            break
        work = []
        for call in group:
            terminal = _effect(call, turn) is Effect.REPORT
            work.append(
                _run_and_tell(call, turn, emit) if budget.has_step(terminal=terminal) else _unpaid(call, budget, emit)
            )
            budget = budget.with_step(terminal=terminal)
        results = [await work[0]] if len(work) == 1 else await asyncio.gather(*work)
        for call, result in zip(group, results, strict=True):
            message = answered(talk.mint(), call, result)
            talk.add(message)
            emit(MessageAdded(message=message))
        if _effect(group[0], turn) is Effect.REPORT and results[0].ok:
            return Executed(budget, reported=True)
    return Executed(budget)


def _groups(calls: Sequence[Call], turn: TurnInput) -> Iterator[list[Call]]:
    for effect, neighbours in itertools.groupby(calls, lambda call: _effect(call, turn)):
        if effect is not None and effect.side_by_side:
            yield list(neighbours)
        else:
            yield from ([call] for call in neighbours)


def _effect(call: Call, turn: TurnInput) -> Effect | None:
    tool = turn.tools.get(call.name)
    return None if tool is None else tool.effect


async def _run_and_tell(call: Call, turn: TurnInput, emit: Emit) -> ToolResult:
    emit(started(call, turn.mask))
    clock = _Clock()
    result = bounded(await run_call(call, turn, emit, clock), turn.mask)
    emit(finished(call, result, clock.milliseconds))
    return result


async def _unpaid(call: Call, budget: Budget, emit: Emit) -> ToolResult:
    """A call for which the budget has no step left."""
    result = ToolResult(refusal(budget), ok=False, code="budget_exhausted")
    emit(finished(call, result))
    return result


class _Clock:
    """How long a call ran. What comes before, a person who thinks about a question above all, does not count."""

    def __init__(self) -> None:
        self._began: float | None = None

    def start(self) -> None:
        self._began = time.monotonic()

    @property
    def milliseconds(self) -> int:
        return 0 if self._began is None else int((time.monotonic() - self._began) * 1000)


async def run_call(call: Call, turn: TurnInput, emit: Emit, clock: _Clock | None = None) -> ToolResult:
    """The whole pipeline for one call; a failure on the way becomes its result."""
    try:
        return await _pipeline(call, turn, emit, clock or _Clock())
    except Cancelled:
        return ToolResult(CANCELLED, "cancelled", ok=False, code="cancelled")
    except AgentFailure as problem:
        return refused(problem.error)
    except Exception as problem:
        # A tool, an editor or a rule may raise what it likes: neighbours that run beside it go on.
        log.exception("a call of %s failed", call.name)
        text = f"{call.name} failed inside: {type(problem).__name__}: {problem}"
        return refused(agent_error("tool", "handler_error", text))


class _Ready(Struct, frozen=True):
    """A call that was understood."""

    call: Call
    tool: Tool
    args: Any
    context: ToolContext

    @property
    def needs_disk(self) -> bool:
        return self.tool.effect is Effect.EXECUTE


async def _pipeline(call: Call, turn: TurnInput, emit: Emit, clock: _Clock) -> ToolResult:
    ready = _decode(call, turn, emit)
    async with interrupted_by(turn.token):
        unsaved = await _prepare(ready, turn)
    mark = turn.editor.mark_disk()
    clock.start()
    async with interrupted_by(turn.token):
        result = await ready.tool.run(ready.args, ready.context)
    changed = list(dict.fromkeys([*result.touched, *turn.editor.changed_since(mark)]))
    event, left = buffers.after_disk(turn, changed, unsaved)
    if event is not None:
        emit(event)
    told = _with_notes(result, left, buffers.not_on_disk(unsaved, turn.cwd))
    return _with_summary(told, result, buffers.without_theirs(unsaved, turn.cwd))


async def _prepare(ready: _Ready, turn: TurnInput) -> Sequence[OpenText]:
    """All that comes before the run. Returns the buffers that the call will not find on the disk."""
    saves = await buffers.to_save(turn) if ready.needs_disk else ()
    await _permit(ready, saves, turn)
    if ready.needs_disk:
        await buffers.save(turn, ready.call.id, saves, ready.tool.name)
    if ready.tool.effect is not Effect.READ:
        await turn.stored()
    return await turn.editor.unsaved() if ready.needs_disk else ()


def _decode(call: Call, turn: TurnInput, emit: Emit) -> _Ready:
    tool = turn.tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(turn.tools))
        raise ToolRefusal("unknown_tool", f"There is no tool {call.name!r}. The tools are: {known}.")
    try:
        args = decode_arguments(tool.args, call.arguments)
    except msgspec.ValidationError as problem:
        text = f"The arguments do not fit: {problem}. Call {tool.name} again with them corrected."
    except RecursionError:
        text = f"The arguments are nested too deeply. Call {tool.name} again with flat ones."
    except (msgspec.DecodeError, UnicodeError) as problem:
        text = f"The arguments are not a JSON object ({problem}). Call {tool.name} again with one."
    else:
        progress = partial(_progress, call, turn, emit)
        return _Ready(call, tool, args, ToolContext(call.id, turn.token, turn.cwd, progress))
    raise failure("schema", "invalid_arguments", text)


def _progress(call: Call, turn: TurnInput, emit: Emit, text: str) -> None:
    emit(CallProgressed(call_id=call.id, text=turn.mask(text)))


async def _permit(ready: _Ready, saves: Sequence[OpenText], turn: TurnInput) -> None:
    """Returns when the call may run. Nobody is asked about a call that would be refused anyway."""
    verdict = turn.policy.judge(ready.tool.name, ready.tool.effect, ready.args)
    if verdict.decision == "deny":
        raise failure("policy", "tool_denied", f"This call is not allowed: {verdict.reason}")
    if verdict.decision == "allow":
        return
    preview = await ready.tool.preview(ready.args, ready.context)
    question = Question(
        ready.call.id,
        ready.tool.name,
        turn.mask(preview.title),
        verdict.reason,
        turn.mask(preview.diff),
        msgspec.to_builtins(ready.args),
        tuple(buffers.shown(buffer.path, turn.cwd) for buffer in saves if buffer.own_only),
    )
    await _ask(question, turn)


async def _ask(question: Question, turn: TurnInput) -> None:
    """Returns after a yes; everything else is raised."""
    answer = await turn.approver.ask(question, turn.token)
    turn.token.check()
    if answer.decision in ("yes", "always"):
        return
    if answer.nobody:
        text = f"This call needs a person's yes ({question.reason}) and nobody can be asked."
        raise failure("policy", "nobody_to_ask", text)
    said = f" They say: {answer.feedback}" if answer.feedback else ""
    raise failure("policy", "refused", f"The user said no to this call.{said}")


def _with_summary(told: ToolResult, before: ToolResult, more: str) -> ToolResult:
    """`told`, with `more` for the person in the line of the call."""
    if not more:
        return told
    return msgspec.structs.replace(told, summary=f"{brief(before.summary, before.content)} · {more}")


def _with_notes(result: ToolResult, *notes: str) -> ToolResult:
    tail = "".join(f"\n[{note}]" for note in notes if note)
    return msgspec.structs.replace(result, content=result.content + tail) if tail else result
