"""Commands that outlive their call: by number, with a bounded log, until they end or somebody ends them."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from smith_server.core.errors import ToolRefusal
from smith_server.proc.living import Process
from smith_server.proc.log import Log, LogFolder
from smith_server.proc.output import Kept, Output, Piece
from smith_server.proc.run import CANCEL_GRACE, KILL_GRACE, LIMIT_GRACE, Command, Ended, Outcome, Processes

_MOST_ENDED = 16
"""Ended jobs that are kept for whoever wants to read their output."""

Take = Callable[[bytes], None]


class Owner(Struct, frozen=True, eq=False):
    """Whose jobs these are ("" for the conversation itself), and who hears of them: `begun` when one goes into
    the background, `over` when it has ended after that."""

    name: str
    begun: Callable[["Job"], None]
    over: Callable[["Job"], None]


class Job:
    """A command at work, in front of its call at first. `id` is "" until it goes into the background."""

    def __init__(self, text: str, command: Command, owner: Owner) -> None:
        self.text = text
        self.owner = owner
        self.id = ""
        self.outcome: Outcome | None = None
        self.seconds = 0.0
        self.marks: dict[str, int] = {}
        """How far each reader has come, by what it filters."""
        self._limit = command.limit
        self._began = time.monotonic()
        self._kept = Kept(command.keep)
        self._keep = command.keep
        self._log: Log | None = None
        self._watching: Take | None = None
        self._ended: Ended = "itself"
        self._forcing = 0
        self._settled = asyncio.Event()
        self._left: tuple[Process, ...] = ()

    def run(self, processes: Processes, command: Command, watching: Take | None) -> None:
        """Start it; `watching` gets its output until it goes into the background. Raises `ToolRefusal`."""
        self._watching = watching
        self._running = processes.start(command, self._feed)
        self._task = asyncio.create_task(self._to_the_end(), name="job")

    @property
    def is_over(self) -> bool:
        return self.outcome is not None

    @property
    def size(self) -> int:
        """Bytes of its output so far."""
        return self._kept.size if self._log is None else self._log.size

    @property
    def age(self) -> float:
        """Seconds that it has run; they stand still at its end."""
        return self.seconds if self.is_over else time.monotonic() - self._began

    def output(self) -> Output:
        """What it wrote in front of its call."""
        return self._kept.output()

    def read(self, since: int, most: int) -> Piece:
        """Its output from the place `since` on; see `Kept.read`."""
        return self._kept.read(since, most) if self._log is None else self._log.read(since, most)

    async def wait(self, seconds: float | None = None) -> bool:
        """Whether it was over in time. Whoever is cancelled in here leaves it running."""
        await asyncio.wait([self._task], timeout=seconds)
        return self.is_over

    async def end(self, ended: Ended, grace: float) -> None:
        """End it with all it started; returns when that is done. One that is over stays as it is."""
        if not self._task.done():
            await self._force(ended, grace)
        await asyncio.shield(self._task)

    def into_background(self, name: str, place: Callable[[], Path]) -> None:
        """Go on as the job `name`, its output in a file at `place` if one can be made at all."""
        self.id = name
        self._watching = None
        with contextlib.suppress(OSError):
            self._log = Log(place(), self._keep, self._kept)
            self._kept = Kept(0)

    def forget(self) -> None:
        """Its output is wanted no more."""
        if self._log is not None:
            self._log.remove()
            self._log = None

    def _feed(self, piece: bytes) -> None:
        (self._kept if self._log is None else self._log).feed(piece)
        if self._watching is not None:
            self._watching(piece)

    async def _to_the_end(self) -> None:
        try:
            async with asyncio.timeout(self._limit):
                await self._running.exited()
        except TimeoutError:
            await self._force("limit", LIMIT_GRACE)
        while self._forcing:
            await self._settled.wait()
        self._left = self._left if self._ended != "itself" else await self._running.rest()
        self._running.let_go()
        self.seconds = time.monotonic() - self._began
        self.outcome = self._running.outcome(self._ended, Output(""), self._left)
        if self.id:
            self.owner.over(self)

    async def _force(self, ended: Ended, grace: float) -> None:
        """Several may force it at once: the one with the least patience decides."""
        self._ended = ended
        self._forcing += 1
        self._settled.clear()
        try:
            self._left = await self._running.end(grace)
        finally:
            self._forcing -= 1
            self._settled.set()


class Jobs:
    """The jobs of one conversation and of its children, numbered as they went into the background."""

    def __init__(self, processes: Processes, logs: LogFolder, prefix: str = "") -> None:
        self._processes = processes
        self._logs = logs
        self._prefix = prefix
        self._count = 0
        self._jobs: dict[str, Job] = {}

    def start(self, text: str, command: Command, owner: Owner, watching: Take | None = None) -> Job:
        """Start `command`, which reads `text` for people; its `limit` ends it. Raises `ToolRefusal`."""
        job = Job(text, command, owner)
        job.run(self._processes, command, watching)
        return job

    def keep(self, job: Job) -> None:
        """Let `job` go on without its call; also for one that is over and has more to show than its call did."""
        self._count += 1
        name = f"bash-{self._count}"
        job.into_background(name, lambda: self._logs.place(f"{self._prefix}{name}"))
        self._jobs[name] = job
        if not job.is_over:
            job.owner.begun(job)
        self._forget_old()

    def check_room(self, most: int) -> None:
        """Raise `too_many_jobs` when `most` jobs run."""
        running = [job.id for job in self._jobs.values() if not job.is_over]
        if len(running) >= most:
            raise ToolRefusal(
                "too_many_jobs",
                f"{len(running)} commands run in the background ({', '.join(running)}), and no more may. "
                "Nothing was run. End one with bash_kill.",
            )

    def get(self, name: str) -> Job:
        """The job of that name. Raises `unknown_job`, naming those there are."""
        if name not in self._jobs:
            known = ", ".join(self._jobs) or "none"
            raise ToolRefusal("unknown_job", f"There is no job {name!r}. Known are: {known}.")
        return self._jobs[name]

    def listed(self) -> Sequence[Job]:
        """All that are known, the oldest first."""
        return tuple(self._jobs.values())

    async def kill(self, job: Job) -> None:
        """End `job`."""
        await job.end("kill", KILL_GRACE)

    def _forget_old(self) -> None:
        for job in [job for job in self._jobs.values() if job.is_over][:-_MOST_ENDED]:
            del self._jobs[job.id]
            job.forget()

    async def close(self) -> None:
        """End them all, and forget what they wrote."""
        await asyncio.gather(*(job.end("cancel", CANCEL_GRACE) for job in self._jobs.values()))
        for job in self._jobs.values():
            job.forget()

    async def end_of(self, owner: str) -> None:
        """`owner` is gone: end what it left running."""
        theirs = [job for job in self._jobs.values() if job.owner.name == owner and not job.is_over]
        await asyncio.gather(*(job.end("cancel", CANCEL_GRACE) for job in theirs))
