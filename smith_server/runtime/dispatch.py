"""Children: a job becomes a turn of its own in another role, and ends with a report for whoever asked."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct

from smith_server.core.cancel import CancelToken
from smith_server.core.conversation import Conversation, turn_number
from smith_server.core.errors import AgentError, AgentFailure, Cancelled, agent_error, failure
from smith_server.core.events import (
    DispatchFinished,
    DispatchStarted,
    MessageAdded,
    TurnStarted,
)
from smith_server.core.interrupt import interrupted_by
from smith_server.core.messages import AssistantMessage, UserMessage
from smith_server.core.ports import Job
from smith_server.core.report import Report, ReportKind, unreported
from smith_server.core.scope import TurnInput
from smith_server.core.tool import ToolContext, ToolResult
from smith_server.core.turn import TurnEnd, run_turn
from smith_server.policy.matrix import check_dispatch
from smith_server.policy.roles import resolve_role
from smith_server.runtime.actor import Actor, Post
from smith_server.runtime.ending import ended, last_event
from smith_server.runtime.repositories import Scratchpad
from smith_server.store.keys import new_id

if TYPE_CHECKING:
    from smith_server.tools.report import ReportTool

log = logging.getLogger(__name__)

REMINDER = "Your work is not delivered yet: only a call of `report` does that. Call it now."


class Prepared(Struct, frozen=True):
    """A child ready to run: its input, the tool that takes its report, and what ends the commands it leaves running."""

    turn: TurnInput
    report: "ReportTool"
    end_jobs: Callable[[], Awaitable[None]]


Prepare = Callable[[Actor, CancelToken], Awaitable[Prepared]]


class Running(Struct, frozen=True, eq=False):
    """A child at work: the mark that ends it, and when it has ended."""

    token: CancelToken
    done: asyncio.Future[None]


class Dispatching:
    """The service `dispatch`: gives whoever takes a turn the means to send others."""

    def __init__(self) -> None:
        self._running: dict[str, Running] = {}

    def children(self, parent: Actor, prepare: Prepare, post: Post, scratchpad: Scratchpad) -> "Children":
        """What runs the jobs of `parent`."""
        return Children(parent, prepare, post, scratchpad, self._running)

    async def cancel(self, job: str) -> bool:
        """End one child and those below it, and wait until it has ended; False when no such one runs."""
        running = self._running.get(job)
        if running is None:
            return False
        running.token.request()
        await asyncio.wait([running.done])
        return True


class Children:
    """Runs jobs for one actor, as far as there is room."""

    def __init__(
        self, parent: Actor, prepare: Prepare, post: Post, scratchpad: Scratchpad, running: dict[str, Running]
    ) -> None:
        self._running = running
        self._parent = parent
        self._prepare = prepare
        self._post = post
        self._scratchpad = scratchpad

    async def dispatch(self, job: Job, context: ToolContext) -> ToolResult:
        """Run `job` to its report; see `core/ports.py`. A cancel ends the child, and its report says so."""
        if check_dispatch(self._parent.role.row, job.role) == "deny":
            targets = ", ".join(self._parent.role.dispatch_targets) or "nobody"
            text = f"The role {self._parent.role.name} may not send {job.role!r}; it may send: {targets}."
            raise failure("policy", "dispatch_denied", text)
        if (refused := self._parent.room.take(self._parent.depth)) is not None:
            return _refused(job, refused)
        token = context.token.child()
        work = asyncio.create_task(self._run(job, context, token), name=f"child {job.role}")
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            token.request()
            return await work
        finally:
            token.release()

    async def _run(self, job: Job, context: ToolContext, token: CancelToken) -> ToolResult:
        name = new_id()
        talk = Conversation(next_turn=turn_number(self._parent.turn))
        talk.begin_turn()
        child = self._parent.child(resolve_role(job.role), name, context.call_id, talk, self._post)
        self._parent.emit(DispatchStarted(child=name, target_role=job.role, task=job.task))
        running = self._running[name] = Running(token, asyncio.get_running_loop().create_future())
        try:
            end, report = await self._placed(child, task_message(job), token)
        finally:
            del self._running[name]
            running.done.set_result(None)
        self._parent.emit(
            DispatchFinished(child=name, target_role=job.role, status=report.status, summary=report.summary)
        )
        return await self._result(child, end, report)

    async def _placed(self, child: Actor, task: str, token: CancelToken) -> tuple[TurnEnd, Report]:
        """Its turn, when there is a place for it. One that is cancelled waits no longer: its turn ends as it begins."""
        async with AsyncExitStack() as taken:
            with suppress(Cancelled):
                async with interrupted_by(token):
                    await taken.enter_async_context(self._place())
            return await self._turn(child, task, token)

    def _place(self) -> AbstractAsyncContextManager[None]:
        """A child of a child runs in its parent's place: it would wait for itself otherwise."""
        return self._parent.room.parallel if self._parent.depth == 0 else nullcontext()

    async def _turn(self, child: Actor, task: str, token: CancelToken) -> tuple[TurnEnd, Report]:
        child.emit(TurnStarted(text=task))
        _say(child, task)
        tool: list[ReportTool] = []
        end = await ended(self._work(child, token, tool), child.talk, child.emit)
        child.emit(last_event(end))
        taken = tool[0].taken if tool else None
        return end, taken or unreported(cast(ReportKind, child.role.row), _why(end), _last_text(child.talk))

    async def _work(self, child: Actor, token: CancelToken, tool: "list[ReportTool]") -> TurnEnd:
        """The child's turn, and a second one after a reminder; `tool` gets what took its report."""
        prepared = await self._prepare(child, token)
        tool.append(prepared.report)
        try:
            return await _reported(child, prepared)
        finally:
            await prepared.end_jobs()

    async def _result(self, child: Actor, end: TurnEnd, report: Report) -> ToolResult:
        """The report as the parent's model reads it, kept under `dispatch/<job>`."""
        told: dict[str, Any] = {"job_id": child.job, "role": child.role.name, **msgspec.to_builtins(report)}
        told["usage"] = msgspec.to_builtins(end.usage)
        content = msgspec.json.encode(told, order="sorted").decode()
        key = f"dispatch/{child.job}"
        try:
            await self._scratchpad.put(key, content)
        except AgentFailure as problem:
            log.warning("the report of %s was not kept: %s", child.job, problem)
            key = ""
        cancelled = end.stop_reason == "cancelled"
        return ToolResult(
            content,
            f"{child.role.alias}: {report.status}, {report.summary}",
            ok=not cancelled,
            code="cancelled" if cancelled else "",
            mutation="unknown" if cancelled else "none",
            recall_key=key,
        )


async def _reported(child: Actor, prepared: Prepared) -> TurnEnd:
    end = await run_turn(prepared.turn, child.talk, child.emit)
    if end.stop_reason != "completed" or prepared.report.taken is not None:
        return end
    _say(child, REMINDER)
    again = await run_turn(prepared.turn, child.talk, child.emit)
    return msgspec.structs.replace(again, usage=end.usage + again.usage)


def _refused(job: Job, error: AgentError) -> ToolResult:
    """A report that nobody made: no child was begun."""
    report = unreported(cast(ReportKind, resolve_role(job.role).row), error, "")
    told = {"role": job.role, **msgspec.to_builtins(report)}
    return ToolResult(msgspec.json.encode(told, order="sorted").decode(), error.message, ok=False, code=error.code)


def task_message(job: Job) -> str:
    """All that a child is told of its task, in short sections."""
    sections = [
        ("Task", job.task),
        ("What the user asked for", job.request_summary),
        ("How to go about it", job.instructions),
        ("Files to look at", "\n".join(f"- {name}" for name in job.files)),
    ]
    return "\n\n".join(f"## {title}\n{text.strip()}" for title, text in sections if text.strip())


def _say(child: Actor, text: str) -> None:
    message = UserMessage(child.talk.mint(), text)
    child.talk.add(message)
    child.emit(MessageAdded(message=message))


def _why(end: TurnEnd) -> Any:
    if end.error is not None:
        return end.error
    if end.stop_reason == "cancelled":
        return Cancelled().error
    text = "The sub-agent ended without a report."
    return agent_error("protocol", "missing_report", text)


def _last_text(talk: Conversation) -> str:
    said = (message.text for message in reversed(talk.messages) if isinstance(message, AssistantMessage))
    return next((text for text in said if text.strip()), "")
