"""`bash_kill`: ends a job with all that it started."""

from msgspec import Struct

from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.proc.jobs import Jobs
from smith_server.tools.bash import left_running
from smith_server.tools.bash_output import state_of
from smith_server.tools.text import text_of


class BashKillArguments(Struct, frozen=True, forbid_unknown_fields=True):
    id: str


class BashKill:
    """Ends one of `jobs`: it is asked first and forced five seconds later."""

    name = "bash_kill"
    effect = Effect.EXECUTE
    args = BashKillArguments
    text = text_of(__file__)

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def preview(self, args: BashKillArguments, context: ToolContext) -> Preview:
        """The command that would be ended."""
        return Preview(f"{args.id}: {self._jobs.get(args.id).text}")

    async def run(self, args: BashKillArguments, context: ToolContext) -> ToolResult:
        """End it. Raises `unknown_job`."""
        job = self._jobs.get(args.id)
        if job.is_over:
            return ToolResult(f"{job.id} {state_of(job)}. There was nothing to end.", "it had ended already")
        await self._jobs.kill(job)
        left = f"\n[{left_running(job.outcome)}]" if job.outcome and job.outcome.left else ""
        return ToolResult(f"{job.id} {state_of(job)}{left}", f"{job.id} is ended", mutation="attempted")
