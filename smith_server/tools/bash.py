"""`bash`: a command line, run to its end, to a limit, or on in the background; and what it wrote."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.proc.jobs import Job, Jobs, Owner
from smith_server.proc.live import Live
from smith_server.proc.living import Process
from smith_server.proc.output import Output
from smith_server.proc.run import CANCEL_GRACE, Command, Outcome
from smith_server.tools.limits import Limits
from smith_server.tools.output import MODEL_BYTES, head_of, shorten, visible
from smith_server.tools.text import text_of

_MOST_NAMED = 8


class BashArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    command: Annotated[str, Meta(pattern=r"\S")]
    timeout: Annotated[float, Meta(ge=1, le=600, description="seconds, then it is ended")] | UnsetType = UNSET
    background: bool = False


class Bash:
    """Runs commands of the model as jobs of `owner`."""

    name = "bash"
    effect = Effect.EXECUTE
    args: type[Struct] = BashArguments

    def __init__(self, jobs: Jobs, owner: Owner, limits: Limits) -> None:
        self.text = f"{text_of(__file__)} {limits.told}"
        self._jobs = jobs
        self._owner = owner
        self._limits = limits
        self._shell = _shell()

    async def preview(self, args: BashArguments, context: ToolContext) -> Preview:
        """The command as it stands, on one line, nothing in it invisible."""
        return Preview(visible(args.command))

    async def run(self, args: BashArguments, context: ToolContext) -> ToolResult:
        """Run it. A command that fails is a good result; one that was ended is not."""
        limit = None if args.timeout is UNSET else args.timeout
        command = Command((self._shell, "-c", "--", args.command), context.cwd, limit, self._limits.keep)
        if args.background:
            self._jobs.check_room(self._limits.jobs)
            job = self._jobs.start(args.command, command, self._owner)
            self._jobs.keep(job)
            return _begun(job)
        live = Live(context.progress)
        try:
            return await self._in_front(args.command, command, context, live.feed)
        finally:
            live.stop()

    async def _in_front(
        self, text: str, command: Command, context: ToolContext, show: Callable[[bytes], None]
    ) -> ToolResult:
        job = self._jobs.start(text, command, self._owner, show)
        try:
            await job.wait(self._limits.seconds if command.limit is None else None)
        except asyncio.CancelledError:
            await job.end("cancel", CANCEL_GRACE)
            if not context.token.requested:
                raise
        return self._result(job, command.limit)

    def _result(self, job: Job, limit: float | None) -> ToolResult:
        output = job.output()
        text = shorten(output.head, output.tail, output.bytes_left_out, output.lines_left_out)
        more = len(output.head) + len(output.tail) > MODEL_BYTES or bool(output.bytes_left_out)
        if more or not job.is_over:
            self._jobs.keep(job)
            job.marks[""] = len(head_of(job.read(0, MODEL_BYTES).data, MODEL_BYTES // 2)) if more else job.size
        body = text.removesuffix("\n") if text.strip() else "[no output]"
        if job.outcome is None:
            return _going_on(job, body, self._limits.seconds, output)
        notes = [f"bash_output {job.id} shows what was left out"] if more else []
        return _ended(job.outcome, body, output, limit, notes)


def _shell() -> str:
    system = Path("/bin/bash")
    return str(system) if system.exists() else shutil.which("bash") or "/bin/sh"


def _begun(job: Job) -> ToolResult:
    return ToolResult(
        f"{job.id} runs in the background. You are told when it has ended.",
        f"{job.id} in the background",
        mutation="attempted",
    )


def _going_on(job: Job, body: str, seconds: float, output: Output) -> ToolResult:
    note = f"[it runs on in the background as {job.id} after {seconds:g} s; you are told when it has ended]"
    return ToolResult(f"{body}\n{note}", f"{job.id} runs on, {_lines(output)}", mutation="attempted")


def _ended(outcome: Outcome, body: str, output: Output, limit: float | None, notes: list[str]) -> ToolResult:
    ending = how_it_ended(outcome, limit)
    told = [f"[{note}]" for note in (ending, left_running(outcome), *notes) if note]
    return ToolResult(
        "\n".join([body, *told]),
        f"{(ending or 'exit 0').replace('exit code', 'exit')}, {_lines(output)}",
        ok=outcome.ended == "itself",
        code={"itself": "", "limit": "timeout", "cancel": "cancelled", "kill": "killed"}[outcome.ended],
        mutation="attempted" if outcome.ended == "itself" else "unknown",
    )


def _lines(output: Output) -> str:
    return f"{output.lines} line{'' if output.lines == 1 else 's'}"


def how_it_ended(outcome: Outcome, limit: float | None = None) -> str:
    """What there is to say about the end; nothing about a plain success."""
    match outcome.ended:
        case "cancel":
            return "cancelled"
        case "kill":
            return "ended by bash_kill"
        case "limit":
            return f"timed out after {limit:g} s" if limit else "timed out"
    if outcome.signal:
        return f"ended by signal {outcome.signal}"
    return f"exit code {outcome.exit_code}" if outcome.exit_code else ""


def left_running(outcome: Outcome) -> str:
    """The processes that a command has left behind, by name."""
    if not outcome.left:
        return ""
    named = ", ".join(_named(each) for each in outcome.left[:_MOST_NAMED])
    more = len(outcome.left) - _MOST_NAMED
    tail = f" and {more} more" if more > 0 else ""
    said = "still running in the background" if outcome.ended == "itself" else "could not be ended"
    return f"{said}: {named}{tail}"


def _named(process: Process) -> str:
    return f"{process.pid} {process.name}"
