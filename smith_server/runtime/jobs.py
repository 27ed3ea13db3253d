"""Commands in the background, for those who watch: what is shown of them, and what the model is told."""

from collections.abc import Callable
from typing import Any, Literal

from smith_server.core.events import JobEnded, JobStarted
from smith_server.core.ports import Emit
from smith_server.proc.clean import clean
from smith_server.proc.jobs import Job, Jobs, Owner
from smith_server.tools.bash import how_it_ended
from smith_server.tools.bash_output import state_of

_PIECE = 64 * 1024

Mask = Callable[[str], str]
"""Blanks keys in a text."""


def owner_of(name: str, emit: Emit, note: Callable[[str], None], mask: Mask) -> Owner:
    """An owner whose jobs are told as events; the model hears by `note` of one that has ended by itself."""

    def begun(job: Job) -> None:
        emit(JobStarted(id=job.id, command=mask(job.text)))

    def over(job: Job) -> None:
        assert job.outcome is not None, "it is over"
        code = job.outcome.exit_code
        emit(JobEnded(id=job.id, state=_ended(job), exit_code=code, seconds=round(job.age, 3)))
        if job.outcome.ended in ("itself", "limit"):
            ending = how_it_ended(job.outcome) or "exit code 0"
            note(f"[{job.id} has ended: {ending}. bash_output shows what it wrote.]")

    return Owner(name, begun, over)


def facts(job: Job, mask: Mask) -> dict[str, Any]:
    """One job for a list."""
    outcome = job.outcome
    return {
        "id": job.id,
        "command": mask(job.text),
        "owner": job.owner.name,
        "state": "running" if outcome is None else _ended(job),
        "exit_code": outcome.exit_code if outcome else None,
        "seconds": round(job.age, 3),
        "bytes": job.size,
    }


def output(job: Job, since: int, mask: Mask) -> dict[str, Any]:
    """What it wrote from the byte `since` on: a piece up to the byte `next`; `lost` bytes before it are not kept."""
    piece = job.read(max(since, 0), _PIECE)
    return {
        **facts(job, mask),
        "text": mask(clean(piece.data)),
        "next": piece.end,
        "lost": piece.start - min(max(since, 0), piece.start),
    }


async def kill(jobs: Jobs, name: str, mask: Mask) -> dict[str, Any]:
    """End a job; how it stands afterwards."""
    job = jobs.get(name)
    await jobs.kill(job)
    return {**facts(job, mask), "text": f"{job.id} {state_of(job)}"}


def _ended(job: Job) -> Literal["exited", "timed_out", "killed"]:
    ended = job.outcome.ended if job.outcome else "itself"
    return "exited" if ended == "itself" else "timed_out" if ended == "limit" else "killed"
