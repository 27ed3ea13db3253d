"""The tools around commands, over real processes, and what their owner is told."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from smith_server.core.tool import ToolResult
from smith_server.proc.guard import Guard
from smith_server.proc.jobs import Job, Jobs, Owner
from smith_server.proc.log import LogFolder
from smith_server.proc.run import Processes
from smith_server.tools.bash import Bash
from smith_server.tools.bash_kill import BashKill
from smith_server.tools.bash_output import BashOutput
from smith_server.tools.limits import Limits
from tests.tools.calls import call


class Bench:
    """The jobs of one conversation. `told` are the jobs that went into the background and that ended there."""

    def __init__(self, folder: Path, processes: Processes, logs: LogFolder) -> None:
        self.folder = folder
        self.jobs = Jobs(processes, logs)
        self.told: list[tuple[str, str]] = []
        self.owner = self.owned_by("")

    def owned_by(self, name: str) -> Owner:
        def begun(job: Job) -> None:
            self.told.append(("begun", job.id))

        def over(job: Job) -> None:
            self.told.append(("over", job.id))

        return Owner(name, begun, over)

    def bash(self, seconds: float = 120.0, jobs: int = 10, keep: int = 262_144, owner: Owner | None = None) -> Bash:
        return Bash(self.jobs, owner or self.owner, Limits(seconds, jobs, keep))

    async def background(self, command: str, **more: object) -> str:
        """Start a job; its id."""
        result = await call(self.bash(**more), self.folder, command=command, background=True)
        return result.content.partition(" ")[0]

    async def output(self, job: str, **more: str) -> ToolResult:
        return await call(BashOutput(self.jobs), self.folder, id=job, **more)

    async def kill(self, job: str) -> ToolResult:
        return await call(BashKill(self.jobs), self.folder, id=job)

    async def over(self, job: str, within: float = 10.0) -> None:
        assert await self.jobs.get(job).wait(within)


@asynccontextmanager
async def benched(folder: Path) -> AsyncIterator[Bench]:
    guard, logs = Guard(), LogFolder(folder / "jobs")
    processes = Processes(guard)
    bench = Bench(folder, processes, logs)
    try:
        yield bench
    finally:
        await bench.jobs.close()
        await processes.close()
        guard.close()
        logs.close()
