import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from smith_server.core.tool import Effect, spec
from smith_server.tools.bash_kill import BashKill
from smith_server.tools.bash_output import BashOutput
from smith_server.tools.output import MODEL_BYTES
from tests.proc.scene import alive, unique_seconds, until
from tests.tools.calls import call, context_in, preview
from tests.tools.shell import benched

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture
async def bench(tmp_path):
    async with benched(tmp_path) as made:
        yield made


def descriptors():
    return len(list(Path("/dev/fd").iterdir()))


def logs(bench):
    return list((bench.folder / "jobs").rglob("*.log"))


async def test_a_command_past_the_default_limit_goes_on_and_nothing_of_it_is_run_twice(bench):
    text = "echo begun >> proof; echo one; sleep 0.6; echo two; exit 3"
    result = await call(bench.bash(seconds=0.3), bench.folder, command=text)
    assert result.content == (
        "one\n[it runs on in the background as bash-1 after 0.3 s; you are told when it has ended]"
    )
    assert (result.ok, result.mutation, result.summary) == (True, "attempted", "bash-1 runs on, 1 line")
    await bench.over("bash-1")
    output = (await bench.output("bash-1")).content.splitlines()
    assert output[0].startswith("bash-1 has ended: exit code 3, ")
    assert output[1:] == ["two"]
    assert (bench.folder / "proof").read_text() == "begun\n"
    assert bench.told == [("begun", "bash-1"), ("over", "bash-1")]


async def test_a_job_begins_at_once_and_only_what_is_new_is_shown(bench):
    job = await bench.background("echo one; until [ -e go ]; do sleep 0.02; done; echo two")
    assert job == "bash-1"
    assert await until(lambda: bench.jobs.get(job).size == 4, within=20)
    first, second = await bench.output(job), await bench.output(job)
    assert (first.content.splitlines()[1:], second.content.splitlines()[1:]) == (["one"], ["[nothing new]"])
    assert first.content.startswith("bash-1 runs, ")
    (bench.folder / "go").touch()
    await bench.over(job)
    third = await bench.output(job)
    assert third.content.splitlines()[1:] == ["two"]
    age = bench.jobs.get(job).age
    assert age == bench.jobs.get(job).age
    assert third.mutation == "none"


async def test_what_ends_in_time_leaves_neither_a_job_nor_a_log(bench):
    await call(bench.bash(), bench.folder, command="seq 100")
    assert (bench.jobs.listed(), logs(bench), bench.told) == ((), [], [])
    assert not (bench.folder / "jobs").exists()


async def test_a_timeout_of_the_model_ends_a_job_too(bench):
    seconds = unique_seconds()
    await call(bench.bash(), bench.folder, command=f"sleep {seconds}", background=True, timeout=1)
    await bench.over("bash-1")
    assert (await bench.output("bash-1")).content.startswith("bash-1 has ended: timed out, ")
    assert alive(seconds) == []


WAITS = "[4 bytes more; call again]"


async def test_a_filter_passes_over_lines_without_losing_them(bench):
    job = await bench.background(
        "printf 'error 1\\nfine\\nerror 2\\nopen'; until [ -e go ]; do sleep 0.02; done; echo ' error 3'"
    )
    assert await until(lambda: bench.jobs.get(job).size == 25)
    lines = [(await bench.output(job, filter=text)).content.splitlines()[1:] for text in ("err", "err", "^f")]
    assert lines == [["error 1", "error 2", WAITS], ["[no new line fits]", WAITS], ["fine", WAITS]]
    (bench.folder / "go").touch()
    await bench.over(job)
    lines = [(await bench.output(job, filter=text)).content.splitlines()[1:] for text in ("err", "")]
    assert lines == [["open error 3"], ["error 1", "fine", "error 2", "open error 3"]]
    assert (await bench.output(job, filter="err")).content.splitlines()[1:] == ["[no new line fits]"]


async def test_a_last_line_without_an_end_is_found_once_the_command_is_over(bench):
    job = await bench.background("printf 'no end'")
    await bench.over(job)
    assert (await bench.output(job, filter="end")).content.endswith("\nno end")


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(a|aa)+$"], ids=["group", "set", "star", "endless"])
async def test_a_filter_that_is_none_or_never_ends_is_refused(bench, pattern):
    job = await bench.background(f"echo {'a' * 60}b")
    await bench.over(job)
    assert (await bench.output(job, filter=pattern)).code == "invalid_filter"
    assert (await bench.output(job)).content.endswith("aab")


async def test_of_a_long_output_the_rest_is_there_page_by_page(bench):
    result = await call(bench.bash(), bench.folder, command="seq 30000")
    assert result.content.endswith("[bash_output bash-1 shows what was left out]")
    head = [line for line in result.content.splitlines() if line.isdigit()]
    cut = next(place for place, line in enumerate(head) if int(line) != place + 1)
    pages = []
    while not pages or "bytes more; call again" in pages[-1]:
        pages.append((await bench.output("bash-1")).content)
        assert len(pages[-1].encode()) < MODEL_BYTES + 200
    rest = [int(line) for page in pages for line in page.splitlines() if line.isdigit()]
    assert rest == list(range(cut + 1, 30001))


async def test_what_is_not_kept_any_more_is_counted(bench):
    job = await bench.background("seq 20000", keep=2000)
    await bench.over(job)
    result = await bench.output(job)
    size = len("".join(f"{n}\n" for n in range(1, 20001)))
    assert f"[{size - 2000:,} bytes before this are not kept]" in result.content
    assert result.content.splitlines()[2:4] == ["1", "2"]
    assert result.content.endswith("\n20000")


async def test_kill_ends_a_job_with_all_it_started_and_says_so(bench):
    seconds = unique_seconds()
    job = await bench.background(f"sleep {seconds} & setsid sleep {seconds} & echo ready; sleep {seconds}")
    assert await until(lambda: bench.jobs.get(job).size)
    result = await bench.kill(job)
    assert result.content.startswith("bash-1 has ended: ended by bash_kill, ")
    assert (result.ok, result.mutation, alive(seconds)) == (True, "attempted", [])
    again = await bench.kill(job)
    assert again.content.endswith("There was nothing to end.")
    assert again.mutation == "none"
    assert bench.told == [("begun", job), ("over", job)]


async def test_a_job_that_does_not_obey_is_ended_five_seconds_later(bench):
    seconds = unique_seconds()
    job = await bench.background(f"trap '' TERM; echo ready; while :; do sleep 0.1; done # {seconds}")
    assert await until(lambda: bench.jobs.get(job).size)
    began = time.monotonic()
    await bench.kill(job)
    assert 5 <= time.monotonic() - began < 6.5
    assert alive(seconds) == []


async def test_only_jobs_that_run_count_and_none_is_ended_for_another(bench):
    seconds = unique_seconds()
    await bench.over(await bench.background("true"))
    await bench.background(f"sleep {seconds}", jobs=1)
    refused = await call(bench.bash(jobs=1), bench.folder, command="touch proof", background=True)
    assert refused.content.startswith("too_many_jobs: 1 commands run in the background (bash-2)")
    assert not (bench.folder / "proof").exists()
    assert len(alive(seconds)) == 1
    in_front = await call(bench.bash(jobs=1, seconds=0.1), bench.folder, command=f"sleep {seconds}")
    assert "as bash-3" in in_front.content


async def test_an_unknown_job_is_refused_with_those_that_are_known(bench):
    assert (await bench.output("bash-9")).content == "unknown_job: There is no job 'bash-9'. Known are: none."
    await bench.background("true")
    assert (await bench.kill("../x")).content == "unknown_job: There is no job '../x'. Known are: bash-1."
    assert (await preview(BashKill(bench.jobs), bench.folder, id="bash-1")).title == "bash-1: true"
    assert (await preview(BashOutput(bench.jobs), bench.folder, id="bash-1")).title == "bash-1: true"


async def test_jobs_end_with_their_owner_and_with_the_session(bench):
    mine, theirs = unique_seconds(), unique_seconds()
    await bench.background(f"sleep {mine}")
    await bench.background(f"sleep {theirs}", owner=bench.owned_by("child"))
    await bench.jobs.end_of("child")
    assert (len(alive(mine)), alive(theirs)) == (1, [])
    await bench.jobs.close()
    assert alive(mine) == []
    assert logs(bench) == []


async def test_only_the_last_ended_jobs_are_kept(bench):
    for _ in range(20):
        await bench.over(await bench.background("true"))
    await bench.background("true")
    assert bench.jobs.listed()[0].id == "bash-5"
    assert len(logs(bench)) == 17


async def test_jobs_leave_no_descriptor_open(bench):
    async def one_job():
        await bench.over(await bench.background("true"))

    await one_job()
    for job in bench.jobs.listed():
        job.forget()
    before = descriptors()
    for _ in range(5):
        await one_job()
    for job in bench.jobs.listed():
        job.forget()
    assert await until(lambda: descriptors() == before)


async def test_without_a_disk_a_job_runs_all_the_same(bench):
    (bench.folder / "jobs").touch()
    job = await bench.background("echo hi")
    await bench.over(job)
    assert (await bench.output(job)).content.endswith("\nhi")


async def test_control_sequences_reach_nobody(bench):
    job = await bench.background("printf '\\e[31mred\\e[0m\\0\\a\\xff 1%%\\r2%%\\n'")
    await bench.over(job)
    assert (await bench.output(job)).content.splitlines()[1:] == ["2%"]


async def test_a_cancelled_kill_ends_the_job_at_once(bench):
    seconds = unique_seconds()
    job = await bench.background(f"trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done # {seconds}")
    assert await until(lambda: bench.jobs.get(job).size)
    task = asyncio.create_task(
        BashKill(bench.jobs).run(msgspec.convert({"id": job}, BashKill.args), context_in(bench.folder))
    )
    assert await until(lambda: bench.jobs.get(job).size > 6)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await bench.over(job, within=1)
    assert alive(seconds) == []


FLOOD = """
import asyncio, json, resource, sys, tempfile
from pathlib import Path
from tests.tools.calls import call
from tests.tools.shell import benched

WRITER = "import os; text = (b'0' * 999 + b'\\\\n') * 1000; [os.write(1, text) for _ in range({megabytes})]"

async def main(megabytes, background):
    command = f'echo first; {sys.executable} -c "{WRITER.format(megabytes=megabytes)}"; echo last'
    with tempfile.TemporaryDirectory() as name:
        async with benched(Path(name)) as bench:
            await call(bench.bash(), bench.folder, command="head -c 1000000 /dev/urandom")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if background:
                job = await bench.background(command)
                await bench.over(job, 100)
                pages = [(await bench.output(job)).content for _ in range(10)]
            else:
                pages = [(await call(bench.bash(), bench.folder, command=command, timeout=250)).content]
            disk = sum(each.stat().st_blocks * 512 for each in Path(name).rglob("*.log"))
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            print(json.dumps([grown * (1 if sys.platform == "darwin" else 1024), disk, pages]))

asyncio.run(main(int(sys.argv[1]), sys.argv[2] == "background"))
"""


def flooded(megabytes, where):
    argv = [sys.executable, "-c", FLOOD, str(megabytes), where]
    grown, disk, pages = json.loads(subprocess.run(argv, cwd=REPO, capture_output=True, check=True).stdout)
    assert grown < 16 * 2**20
    assert disk <= 600_000
    return pages


@pytest.mark.timeout(300)
def test_five_gigabytes_cost_little_memory_and_disk_and_both_ends_are_told_with_the_gap():
    (content,) = flooded(5000, "in front")
    lines = content.splitlines()
    gap = next(place for place, line in enumerate(lines) if line.endswith("left out here]"))
    assert (lines[0], lines[-2], len(lines[1]), len(lines[-3])) == ("first", "last", 999, 999)
    shown = sum(len(line) + 1 for line in [*lines[:gap], *lines[gap + 1 : -1]])
    assert lines[gap] == f"[{5_000_000_011 - shown} bytes ({5_000_002 - (len(lines) - 2)} lines) left out here]"


def test_a_job_that_floods_costs_little_too_and_its_gap_is_told():
    pages = flooded(300, "background")
    assert pages[0].splitlines()[1] == "first"
    assert sum("bytes before this are not kept]" in page for page in pages) == 1
    assert next(page for page in pages if "call again]" not in page).endswith("\nlast")


@pytest.mark.parametrize("make", [BashOutput, BashKill])
def test_what_a_model_is_told_of_a_tool_is_short(make):
    tool = make(None)
    assert len(msgspec.json.encode(spec(tool))) <= 600
    assert tool.effect is (Effect.READ if make is BashOutput else Effect.EXECUTE)
