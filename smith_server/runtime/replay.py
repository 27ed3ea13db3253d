"""Stored messages as the events that would have shown them: how a face draws what it did not see happen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import get_args

import msgspec
from msgspec import Struct

from smith_server.core.calls import brief, started
from smith_server.core.conversation import turn_of
from smith_server.core.errors import AgentError, Kind, agent_error
from smith_server.core.events import (
    CallFinished,
    DispatchFinished,
    DispatchStarted,
    Envelope,
    Event,
    MessageAdded,
    OutputDelta,
    ReasoningDelta,
    TurnCancelled,
    TurnCompleted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from smith_server.core.messages import AssistantMessage, Call, Message, Text, Thinking, ToolMessage, Usage, UserMessage
from smith_server.runtime.session import Session
from smith_server.store.jobs import Job
from smith_server.store.pages import Page, Said, TurnFacts


class Replayed(Struct, frozen=True):
    """A part of a conversation as events, and `before` for the part in front of it, "" when this is the first."""

    events: tuple[Envelope, ...]
    before: str = ""


def replayed(
    session: Session, page: Page, untold: Sequence[Envelope], seen: int | None, *, is_newest: bool
) -> Replayed:
    """The events of a page. What is `untold` yet is left out: it comes as events of its own, as do messages with a
    number above `seen`. The newest page has what could not be stored too."""
    replay = Replay(session.id, page.turns)
    coming = {(each.job, each.event.message.id) for each in untold if isinstance(each.event, MessageAdded)}
    said = [each for each in page.said if seen is None or each.n <= seen]
    if is_newest:
        last = max((each.message.id for each in page.said if not each.job), default="")
        said += [Said(message) for message in session.talk.messages if message.id > last]
    events = [event for each in said if (each.job, each.message.id) not in coming for event in replay.said(each)]
    is_ending = any(isinstance(each.event, TurnEnded) and not each.job for each in untold)
    if not is_ending and (not session.turn or replay.turn != session.turn):
        events += replay.rest()
    return Replayed(tuple(events), page.before)


class Replay:
    """One conversation, told message by message, children inside the calls that started them.

    `turns` is what is known of turns; it may grow while messages come.
    """

    def __init__(self, conversation: str, turns: Mapping[str, TurnFacts] | None = None) -> None:
        self.turns = dict(turns or {})
        self.turn = ""
        self._conversation = conversation
        self._last: dict[str, Message] = {}
        self._calls: dict[tuple[str, str], Call] = {}

    def said(self, said: Said) -> Iterator[Envelope]:
        """The events of one more message."""
        message, job = said.message, said.job
        if turn_of(message.id) != self.turn:
            yield from self.rest(is_over=True)
            self.turn = turn_of(message.id)
        if job not in self._last:
            yield from self._begin(job, message)
        self._last[job] = message
        if isinstance(message, AssistantMessage):
            self._calls.update({(job, call.id): call for call in message.calls})
        if isinstance(message, ToolMessage):
            yield from self._children_of(job, message)
        for event in _shown(message):
            yield self._of(job, event)

    def rest(self, *, is_over: bool = False) -> Iterator[Envelope]:
        """The end of the turn, if it has ended, and of its children; `is_over` when something came behind it."""
        if not self.turn or not (is_over or self._state("") != "open"):
            return
        for job in [job for job in self._last if job]:
            if job in self._last:
                yield from self._end(job, None)
        if "" in self._last:
            yield self._of("", self._end_event(""))
        self.turn = ""
        self._last.clear()
        self._calls.clear()

    def _begin(self, job: str, message: Message) -> Iterator[Envelope]:
        if not job:
            text = message.text if isinstance(message, UserMessage) else ""
            yield self._of("", TurnStarted(text=text))
        elif (child := self._job(job)) is not None:
            asked = self._calls.get((child.parent, child.call))
            task = _task(asked) if asked is not None else ""
            yield self._of(child.parent, DispatchStarted(child=job, target_role=child.role, task=task or child.task))
            yield self._of(job, TurnStarted(text=child.task))

    def _children_of(self, parent: str, result: ToolMessage) -> Iterator[Envelope]:
        """The ends of those that the call of this result started; one call starts one."""
        for job in list(self._last):
            child = self._job(job)
            if job and child is not None and (child.parent, child.call) == (parent, result.call_id):
                yield from self._end(job, result)

    def _end(self, job: str, result: ToolMessage | None) -> Iterator[Envelope]:
        child = self._job(job)
        if child is None:
            del self._last[job]
            return
        for below in [each for each in self._last if each and self._parent(each) == job]:
            yield from self._end(below, None)
        yield self._of(job, self._end_event(job))
        status, summary = _report(result, child)
        yield self._of(
            child.parent, DispatchFinished(child=job, target_role=child.role, status=status, summary=summary)
        )
        del self._last[job]

    def _end_event(self, job: str) -> Event:
        facts = self.turns.get(self.turn, TurnFacts())
        usage = facts.usage.get(job or "parent", Usage())
        match self._state(job):
            case "completed":
                budget = facts.row is not None and facts.row.record.get("stop_reason") == "budget_exhausted"
                return TurnCompleted(stop_reason="budget_exhausted" if budget and not job else "completed", usage=usage)
            case "cancelled":
                return TurnCancelled(usage=usage)
            case "error":
                record = facts.row.record if facts.row is not None and not job else {}
                return TurnFailed(error=_error(record), usage=usage)
            case _:
                return _guessed(self._last[job])

    def _state(self, job: str) -> str:
        facts = self.turns.get(self.turn, TurnFacts())
        if not job:
            return facts.row.state if facts.row is not None else ""
        child = self._job(job)
        return child.state if child is not None else ""

    def _job(self, job: str) -> Job | None:
        known = self.turns.get(self.turn, TurnFacts()).jobs
        return next((each for each in known if each.id == job), None)

    def _parent(self, job: str) -> str:
        child = self._job(job)
        return child.parent if child is not None else ""

    def _of(self, job: str, event: Event) -> Envelope:
        child = self._job(job) if job else None
        if child is None:
            return Envelope(self._conversation, self.turn, event, job)
        return Envelope(self._conversation, self.turn, event, job, child.call, child.role, child.parent)


def _error(record: Mapping[str, object]) -> AgentError:
    kind, code, text = (str(record.get(name, "")) for name in ("kind", "code", "message"))
    known: Kind = next((each for each in get_args(Kind) if each == kind), "transport")
    return agent_error(known, code or "no_end", text or "This turn failed.")


def _guessed(last: Message) -> Event:
    """What the last message of a turn tells of its end, where nothing else does."""
    match last:
        case AssistantMessage(stop="cancelled") | ToolMessage(code="cancelled"):
            return TurnCancelled()
        case AssistantMessage(stop=stop) if stop != "error":
            return TurnCompleted()
        case _:
            return TurnFailed(error=agent_error("transport", "no_end", "This turn ended without an answer."))


class _Asked(Struct, frozen=True):
    task: str = ""


def _task(call: Call) -> str:
    """What a child was sent to do, in the words of the one who sent it."""
    try:
        return msgspec.json.decode(call.arguments, type=_Asked).task
    except msgspec.DecodeError:
        return ""


class _Told(Struct, frozen=True):
    status: str = ""
    summary: str = ""


def _report(result: ToolMessage | None, child: Job) -> tuple[str, str]:
    """Status and summary of a child's report, as far as its result still is one."""
    state = "ok" if child.state == "completed" else child.state
    if result is None:
        return state, ""
    try:
        told = msgspec.json.decode(result.content, type=_Told)
    except msgspec.DecodeError:
        return state, result.summary
    return told.status or state, told.summary or result.summary


def _shown(message: Message) -> Iterable[Event]:
    match message:
        case UserMessage():
            return [MessageAdded(message=message)]
        case AssistantMessage():
            texts = [_text(message, part) for part in message.parts if not isinstance(part, Call)]
            return [*texts, MessageAdded(message=message), *map(started, message.calls)]
        case ToolMessage():
            return [_finished(message), MessageAdded(message=message)]


def _finished(message: ToolMessage) -> Event:
    return CallFinished(
        call_id=message.call_id,
        name=message.name,
        ok=message.ok,
        summary=brief(message.summary, message.content),
        code=message.code,
        content=message.content,
        diff=message.diff,
    )


def _text(message: AssistantMessage, part: Text | Thinking) -> Event:
    match part:
        case Text(text):
            return OutputDelta(message=message.id, text=text)
        case Thinking(text):
            return ReasoningDelta(message=message.id, text=text)
