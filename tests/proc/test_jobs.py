import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from smith_server.proc.jobs import Job, Jobs, Owner
from smith_server.proc.log import LogFolder
from smith_server.proc.run import CANCEL_GRACE, Processes
from tests.proc.scene import alive, shell, unique_seconds, until
from tests.proc.test_run import ENDED_BY_FORCE


class Told:
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.owner = Owner(
            "", lambda job: self.events.append(("begun", job.id)), lambda job: self.events.append(("over", job.id))
        )


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def jobs(processes: Processes, tmp_path: Path) -> AsyncIterator[Jobs]:
    logs = LogFolder(tmp_path / "jobs")
    made = Jobs(processes, logs)
    yield made
    await made.close()
    logs.close()


def start(jobs: Jobs, told: Told, text: str, limit: float | None = None) -> Job:
    return jobs.start(text, shell(text, limit), told.owner)


@pytest.mark.parametrize("text", ENDED_BY_FORCE.values(), ids=ENDED_BY_FORCE.keys())
async def test_a_job_that_is_cancelled_is_gone_within_a_second_with_all_it_started(
    jobs: Jobs, told: Told, text: str
) -> None:
    seconds = unique_seconds()
    job = start(jobs, told, text.format(s=seconds))
    assert await until(lambda: job.read(0, 5).data == b"ready")
    began = time.monotonic()

    await job.end("cancel", CANCEL_GRACE)

    assert time.monotonic() - began < 1
    assert job.outcome is not None
    assert (job.outcome.ended, job.outcome.left, alive(seconds)) == ("cancel", (), [])


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("echo begun; sleep {s}", 0.0),
        ("trap 'echo cleaned up; exit 7' TERM; echo begun; sleep {s} & wait", 0.0),
        ("trap '' TERM; echo begun; while :; do sleep 1; done # {s}", 2.0),
    ],
    ids=["obeys", "cleans up", "ignores TERM"],
)
async def test_a_job_is_ended_at_its_limit_with_time_to_clean_up(
    jobs: Jobs, told: Told, text: str, least: float
) -> None:
    seconds = unique_seconds()
    began = time.monotonic()
    job = start(jobs, told, text.format(s=seconds), limit=0.3)

    assert await job.wait(5)

    assert least <= time.monotonic() - began - 0.3 < least + 1
    assert job.outcome is not None
    assert (job.outcome.ended, job.outcome.left, alive(seconds)) == ("limit", (), [])
    assert job.output().head == ("begun\ncleaned up\n" if "cleaned" in text else "begun\n")


async def test_a_cancel_while_the_limit_ends_a_job_is_as_quick_as_any(jobs: Jobs, told: Told) -> None:
    seconds = unique_seconds()
    job = start(jobs, told, f"trap 'echo asked' TERM; while :; do sleep 0.05; done # {seconds}", limit=0.2)
    assert await until(lambda: job.size)
    began = time.monotonic()

    await job.end("cancel", CANCEL_GRACE)

    assert time.monotonic() - began < 1
    assert job.outcome is not None
    assert (job.outcome.ended, job.outcome.signal, alive(seconds)) == ("cancel", "KILL", [])


DETACHED = {
    "inherits the output": "sleep {s} & echo hi",
    "redirected": "sleep {s} >/dev/null 2>&1 & echo hi",
    "nohup": "nohup sleep {s} & echo hi",
    "disown": "sleep {s} & disown; echo hi",
    "double fork": "(sleep {s} &) ; echo hi",
}
if sys.platform == "linux":
    DETACHED |= {
        "setsid": "setsid sleep {s} & echo hi",
        "setsid and gone": "(setsid sleep {s} >/dev/null 2>&1 &); echo hi",
    }


@pytest.mark.parametrize("text", DETACHED.values(), ids=DETACHED.keys())
async def test_a_job_is_over_when_its_shell_is_and_the_session_takes_the_rest_along(
    processes: Processes, jobs: Jobs, told: Told, text: str
) -> None:
    seconds = unique_seconds()
    job = start(jobs, told, text.format(s=seconds))

    assert await job.wait(2)

    assert job.outcome is not None and job.outcome.exit_code == 0
    assert job.output().head.endswith("hi\n")
    assert len(alive(seconds)) == 1
    await processes.close()
    assert alive(seconds) == []


async def test_who_waits_for_a_job_may_be_cancelled_and_others_hear_of_its_end(jobs: Jobs, told: Told) -> None:
    job = start(jobs, told, "sleep 0.3; exit 4")
    jobs.keep(job)
    waiting = asyncio.create_task(job.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert await job.wait(5)

    assert job.outcome is not None and job.outcome.exit_code == 4
    assert told.events == [("begun", "bash-1"), ("over", "bash-1")]


async def test_one_that_is_over_already_is_kept_without_an_event(jobs: Jobs, told: Told) -> None:
    job = start(jobs, told, "echo hi")
    assert await job.wait(5)
    jobs.keep(job)
    await job.end("kill", 5)

    assert jobs.get("bash-1") is job
    assert job.outcome is not None and job.outcome.ended == "itself"
    assert (job.read(0, 9).data, told.events) == (b"hi\n", [])


async def test_the_end_of_the_session_is_the_end_of_its_jobs_and_is_told(
    processes: Processes, jobs: Jobs, told: Told
) -> None:
    seconds = unique_seconds()
    job = start(jobs, told, f"echo ready; sleep {seconds}")
    jobs.keep(job)
    assert await until(lambda: job.size)

    await processes.close()

    assert await job.wait(1)
    assert (alive(seconds), told.events[-1]) == ([], ("over", "bash-1"))
