"""One turn: ask the model, relay what it says, run its calls, until there is nothing left to do.

The loop decides nothing: provider, tools, policy and storage come in with `TurnInput`.
"""

import asyncio
import time
from typing import Literal

from msgspec import Struct, structs

from smith_server.core.conversation import Conversation
from smith_server.core.errors import AgentError, AgentFailure, Cancelled, agent_error, public
from smith_server.core.events import (
    CallFinished,
    ErrorReported,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    RequestFinished,
    RequestRetried,
    RequestStarted,
    ResponseContinued,
    UsageUpdated,
)
from smith_server.core.execute import CANCELLED, execute
from smith_server.core.interrupt import interrupted_by, wait_for
from smith_server.core.messages import (
    AssistantMessage,
    Call,
    Part,
    StopReason,
    Text,
    Usage,
    UserMessage,
    joined_text,
)
from smith_server.core.ports import Again, Done, Emit, Failed, Request, TextDelta, ThinkingDelta
from smith_server.core.scope import TurnInput


class TurnEnd(Struct, frozen=True):
    """How a turn ended and what it used."""

    stop_reason: Literal["completed", "cancelled", "error", "budget_exhausted"]
    usage: Usage = Usage()
    error: AgentError | None = None


MOST_CONTINUED = 3
"""So often an answer of one prompt may reach the output limit, or be paused, and go on."""

_GO_ON = "[Your answer reached the output limit. Go on exactly where it stopped; repeat nothing of it.]"
_SMALLER = (
    "[Your answer reached the output limit inside a tool call. None of its calls was run. Make the call again "
    "with less in it: write a large file in several steps, each with a part of the text.]"
)


_RESUME = "[The provider paused your answer. Go on exactly where it stopped; repeat nothing of it.]"


class Reply(Struct, frozen=True):
    """What came of one request, kept even when it broke off. `context` is its own size in tokens.

    `cut`: the output limit took calls from it, which are not among the parts. `paused`: more of it is to come.
    """

    parts: tuple[Part, ...]
    stop: StopReason
    usage: Usage
    error: AgentError | None = None
    context: int = 0
    cut: bool = False
    paused: bool = False


async def run_turn(turn: TurnInput, talk: Conversation, emit: Emit) -> TurnEnd:
    """Run until the model has nothing more to do. The conversation is valid whenever this returns."""
    usage, budget, continued = Usage(), turn.budget, 0
    while True:
        _steer(turn, talk, emit)
        if turn.token.requested:
            return _close(talk, emit, TurnEnd("cancelled", usage))
        if (error := budget.exhausted(time.monotonic(), turn.meter.spent)) is not None:
            return _close(talk, emit, TurnEnd("budget_exhausted", usage, error))
        turn = await turn.renewed(turn)
        reply = await _request(turn, talk, emit)
        usage, budget = usage + reply.usage, budget.with_request()
        emit(UsageUpdated(turn_usage=usage, context=reply.context, cost=turn.meter.account.total.known_cost))
        if (error := _overspent(turn, reply, emit)) is not None:
            return _close(talk, emit, TurnEnd("budget_exhausted", usage, error))
        if (reply.stop == "max_tokens" or reply.paused) and continued < MOST_CONTINUED:
            continued += 1
            _continue(reply, continued, talk, emit)
            continue
        if (end := _end_of(reply, usage)) is not None:
            return _close(talk, emit, end)
        done = await execute(_calls(reply), turn, talk, emit, budget)
        budget = done.budget
        if done.reported:
            return _close(talk, emit, TurnEnd("completed", usage))


def _overspent(turn: TurnInput, reply: Reply, emit: Emit) -> AgentError | None:
    """Why the turn ends with this reply, which is paid for and kept: it was the last one that there is money for."""
    if reply.stop == "cancelled":
        return None
    error = turn.budget.overspent(turn.meter.spent)
    if error is not None and reply.error is not None and reply.error.code != error.code:
        emit(ErrorReported(error=public(reply.error)))
    return error


def _steer(turn: TurnInput, talk: Conversation, emit: Emit) -> None:
    for word in turn.inbox.take():
        message = UserMessage(talk.mint(), word.text, aside=word.aside)
        talk.add(message)
        emit(MessageAdded(message=message))


def _continue(reply: Reply, attempt: int, talk: Conversation, emit: Emit) -> None:
    """Ask for the rest of an answer that the output limit or the provider ended."""
    wish = _SMALLER if reply.cut else _RESUME if reply.paused else _GO_ON
    message = UserMessage(talk.mint(), wish, aside=True)
    talk.add(message)
    emit(ResponseContinued(attempt=attempt, dropped=reply.cut, paused=reply.paused))
    emit(MessageAdded(message=message))


async def _request(turn: TurnInput, talk: Conversation, emit: Emit) -> Reply:
    """One request, made again where that may help; what was shown of it is a message of the conversation afterwards."""
    try:
        request = await turn.view.next(talk.messages)
    except Cancelled:
        return Reply((), "cancelled", turn.view.used())
    except AgentFailure as problem:
        return Reply((), "error", turn.view.used(), problem.error)
    if (error := turn.budget.overspent(turn.meter.spent)) is not None:
        return Reply((), "error", turn.view.used(), error)
    name = talk.mint()
    reply = await _attempts(turn, request, name, emit)
    reply = structs.replace(reply, usage=reply.usage + turn.view.used())
    if _calls(reply) or joined_text(reply.parts).strip():
        message = AssistantMessage(name, reply.parts, request.model, reply.stop)
        talk.add(message)
        emit(MessageAdded(message=message))
    return reply


async def _attempts(turn: TurnInput, request: Request, name: str, emit: Emit) -> Reply:
    """The last attempt's reply, with what all of them used."""
    attempt, used = 1, Usage()
    turn.retries.begin()
    while True:
        began = time.monotonic()
        emit(RequestStarted(model=request.model, provider=turn.provider.name, attempt=attempt))
        answer = await _relay(turn, request, name, emit)
        reply = _reply(answer, turn.meter.charge(answer))
        turn.view.answered(reply.usage)
        used = used + reply.usage
        emit(RequestFinished(usage=reply.usage, duration_ms=int((time.monotonic() - began) * 1000)))
        again = turn.retries.after(answer)
        if again is None or turn.budget.overspent(turn.meter.spent) is not None:
            return structs.replace(reply, usage=used)
        if not await _waited(again, name, turn, emit):
            return structs.replace(reply, stop="cancelled", usage=used)
        attempt = again.attempt


async def _waited(again: Again, name: str, turn: TurnInput, emit: Emit) -> bool:
    """Say that a request is made again and wait for the moment; False when the turn was cancelled meanwhile."""
    emit(
        RequestRetried(
            message=name,
            layer=again.layer,
            attempt=again.attempt,
            delay_ms=round(again.delay * 1000),
            error=public(again.error),
            discard_output=again.discard_output,
        )
    )
    try:
        await wait_for(asyncio.sleep(again.delay), turn.token)
    except Cancelled:
        return False
    return True


async def _relay(turn: TurnInput, request: Request, name: str, emit: Emit) -> Done | Failed:
    """Pass deltas on as they come. What breaks off, or is cancelled, keeps its text and loses half-written calls."""
    shown: list[str] = []
    stream = turn.provider.stream(request, turn.token)
    try:
        async with interrupted_by(turn.token):
            async for delta in stream:
                match delta:
                    case TextDelta(text):
                        shown.append(text)
                        emit(OutputDelta(message=name, text=text))
                    case ThinkingDelta(text):
                        emit(ReasoningDelta(message=name, text=text))
                    case Done():
                        return delta
                    case Failed(parts=parts):
                        return structs.replace(delta, parts=_kept(parts, shown))
    except Cancelled as problem:
        return Failed(problem.error, _kept((), shown))
    text = "The answer ended without saying that it was complete. Send the prompt again."
    return Failed(agent_error("protocol", "stream_truncated", text), _kept((), shown))


def _kept(parts: tuple[Part, ...], shown: list[str]) -> tuple[Part, ...]:
    """What may stay of a broken answer: its text, never a call, never nothing but reasoning."""
    whole = tuple(part for part in parts if not isinstance(part, Call))
    if joined_text(whole).strip():
        return whole
    text = "".join(shown)
    return (Text(text),) if text.strip() else ()


def _reply(answer: Done | Failed, usage: Usage) -> Reply:
    if isinstance(answer, Done) and answer.stop == "max_tokens":
        parts = tuple(part for part in answer.parts if not isinstance(part, Call))
        cut = bool(answer.dropped) or len(parts) < len(answer.parts)
        return Reply(parts, answer.stop, usage, context=usage.context, cut=cut)
    if isinstance(answer, Done):
        # What its calls bring is sent anyway, and is what the provider waits for.
        paused = answer.paused and answer.stop == "stop"
        return Reply(answer.parts, answer.stop, usage, context=usage.context, paused=paused)
    if answer.error.kind == "cancelled":
        return Reply(answer.parts, "cancelled", usage, context=usage.context)
    return Reply(answer.parts, "error", usage, answer.error, usage.context)


def _end_of(reply: Reply, usage: Usage) -> TurnEnd | None:
    """How the turn ends with this reply, or None when there are calls to run."""
    if reply.stop == "cancelled":
        return TurnEnd("cancelled", usage)
    if reply.error is not None:
        return TurnEnd("error", usage, reply.error)
    if reply.stop == "max_tokens":
        text = (
            f"The answer reached the model's output limit {MOST_CONTINUED + 1} times. Ask for it in smaller pieces, "
            "or raise `max_output_tokens` of the provider or model."
        )
        return TurnEnd("error", usage, agent_error("protocol", "output_limit", text))
    if reply.stop == "content_filter":
        text = "The provider withheld the rest of this answer (content filter). Rephrase the prompt."
        return TurnEnd("error", usage, agent_error("protocol", "content_filter", text))
    if reply.paused:
        text = "The provider paused the answer again and again. Send a prompt such as `go on` for the rest of it."
        return TurnEnd("error", usage, agent_error("protocol", "paused", text))
    if _calls(reply):
        return None
    if not joined_text(reply.parts).strip():
        text = "The model answered with neither text nor a tool call. Send the prompt again."
        return TurnEnd("error", usage, agent_error("protocol", "empty_response", text))
    return TurnEnd("completed", usage)


def _calls(reply: Reply) -> tuple[Call, ...]:
    return tuple(part for part in reply.parts if isinstance(part, Call))


def _close(talk: Conversation, emit: Emit, end: TurnEnd) -> TurnEnd:
    """Every call that was not run gets a result that says so, and the faces are told."""
    code = "cancelled" if end.stop_reason == "cancelled" else "skipped"
    content = CANCELLED if code == "cancelled" else "Not run: the turn ended before this call."
    for message in talk.close(code, content):
        emit(
            CallFinished(
                call_id=message.call_id, name=message.name, ok=False, summary=content, code=code, content=content
            )
        )
        emit(MessageAdded(message=message))
    return end
