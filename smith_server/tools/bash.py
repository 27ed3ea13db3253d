"""`bash`: a command line, run to its end or to its limit, and what it wrote."""

import shutil
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.proc.live import Live
from smith_server.proc.living import Process
from smith_server.proc.run import Command, Outcome, Processes
from smith_server.tools.output import shorten, visible

_MOST_NAMED = 8


class BashArguments(Struct, frozen=True, forbid_unknown_fields=True):
    # No docstring: it would go to the model with every request.
    command: Annotated[str, Meta(pattern=r"\S")]
    timeout: Annotated[float, Meta(ge=1, le=600, description="seconds, then it is ended")] | UnsetType = UNSET


class Bash:
    """Runs commands of the model as children of one session.

    `default_limit` is in seconds and holds where the model gives no `timeout`; `keep` is how many
    bytes of output are kept at all (the model sees `tools.output.MODEL_BYTES` of them).
    """

    name = "bash"
    effect = Effect.EXECUTE
    args: type[Struct] = BashArguments

    def __init__(self, processes: Processes, default_limit: float = 120.0, keep: int = 262_144) -> None:
        text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
        self.text = f"{text} Default timeout {default_limit:g} s."
        self._processes = processes
        self._default_limit = default_limit
        self._keep = keep
        self._shell = _shell()

    async def preview(self, args: BashArguments, context: ToolContext) -> Preview:
        """The command as it stands, on one line, nothing in it invisible."""
        return Preview(visible(args.command))

    async def run(self, args: BashArguments, context: ToolContext) -> ToolResult:
        """Run it. A command that fails is a good result; one that was ended is not."""
        limit = self._default_limit if args.timeout is UNSET else args.timeout
        command = Command((self._shell, "-c", "--", args.command), context.cwd, limit, self._keep)
        live = Live(context.progress)
        try:
            outcome = await self._processes.run(command, context.token, live.feed)
        finally:
            live.stop()
        return _result(outcome, limit)


def _shell() -> str:
    system = Path("/bin/bash")
    return str(system) if system.exists() else shutil.which("bash") or "/bin/sh"


def _result(outcome: Outcome, limit: float) -> ToolResult:
    output = outcome.output
    text = shorten(output.head, output.tail, output.bytes_left_out, output.lines_left_out)
    ending = _ending(outcome, limit)
    notes = [f"[{note}]" for note in (ending, _left(outcome)) if note]
    body = text if text.strip() else "[no output]"
    lines = f"{output.lines} line{'' if output.lines == 1 else 's'}"
    return ToolResult(
        "\n".join([body.removesuffix("\n"), *notes]),
        f"{(ending or 'exit 0').replace('exit code', 'exit')}, {lines}",
        ok=outcome.ended == "itself",
        code={"itself": "", "limit": "timeout", "cancel": "cancelled"}[outcome.ended],
        mutation="attempted" if outcome.ended == "itself" else "unknown",
    )


def _ending(outcome: Outcome, limit: float) -> str:
    """What there is to say about the end; nothing about a plain success."""
    if outcome.ended == "cancel":
        return "cancelled"
    if outcome.ended == "limit":
        return f"timed out after {limit:g} s"
    if outcome.signal:
        return f"ended by signal {outcome.signal}"
    return f"exit code {outcome.exit_code}" if outcome.exit_code else ""


def _left(outcome: Outcome) -> str:
    if not outcome.left:
        return ""
    named = ", ".join(_named(each) for each in outcome.left[:_MOST_NAMED])
    more = len(outcome.left) - _MOST_NAMED
    tail = f" and {more} more" if more > 0 else ""
    said = "still running in the background" if outcome.ended == "itself" else "could not be ended"
    return f"{said}: {named}{tail}"


def _named(process: Process) -> str:
    return f"{process.pid} {process.name}"
