"""What runs commands for the tools of a process: begun when the first one is wanted."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from smith_server.proc.guard import Guard
from smith_server.proc.jobs import Jobs
from smith_server.proc.log import LogFolder
from smith_server.proc.run import Processes


class Shells:
    """`hidden` names variables whose values no command may see, `logs` is where jobs write."""

    def __init__(self, hidden: Collection[str], logs: Path) -> None:
        self._logs = LogFolder(logs)
        self._jobs: dict[str, Jobs] = {}
        self._guard = Guard()
        self.processes = Processes(self._guard, hidden)

    def jobs(self, conversation: str) -> Jobs:
        """The jobs of a conversation."""
        if conversation not in self._jobs:
            self._jobs[conversation] = Jobs(self.processes, self._logs, f"{conversation}-")
        return self._jobs[conversation]

    async def forget_jobs(self, conversation: str) -> None:
        """End what runs in the background of a conversation."""
        if (jobs := self._jobs.pop(conversation, None)) is not None:
            await jobs.close()

    async def end_jobs(self) -> None:
        """End every command in the background."""
        await asyncio.gather(*(jobs.close() for jobs in self._jobs.values()))

    async def close(self) -> None:
        """End every command that still runs."""
        await self.processes.close()
        self._guard.close()
        self._logs.close()
