"""`bash_output`: what a job has written since it was last looked at."""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from smith_server.core.errors import ToolRefusal
from smith_server.core.tool import Effect, Preview, ToolContext, ToolResult
from smith_server.proc.clean import clean
from smith_server.proc.jobs import Job, Jobs
from smith_server.proc.output import end_of_characters
from smith_server.tools.bash import how_it_ended, left_running
from smith_server.tools.output import MODEL_BYTES, shorten
from smith_server.tools.text import text_of

_PIECE = 64 * 1024
_LEAST_ROOM = 1024
_SECONDS = 1.0
_LONGEST_LINE = 2000
_MOST_FILTERS = 16


class BashOutputArguments(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    filter: Annotated[str, Meta(max_length=500, description="only lines that this regex finds")] = ""


class BashOutput:
    """Reads the logs of `jobs`. Each filter has a place of its own: what it passes over is not lost for the others."""

    name = "bash_output"
    effect = Effect.READ
    args = BashOutputArguments
    text = text_of(__file__)

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def preview(self, args: BashOutputArguments, context: ToolContext) -> Preview:
        """The command whose output is wanted."""
        return Preview(f"{args.id}: {self._jobs.get(args.id).text}")

    async def run(self, args: BashOutputArguments, context: ToolContext) -> ToolResult:
        """As much of it as fits into a result. Raises `unknown_job` and `invalid_filter`."""
        job = self._jobs.get(args.id)
        since = job.marks.get(args.filter, job.marks.get("", 0))
        news = await self._filtered(job, since, args.filter) if args.filter else _whole(job, since)
        _note(job, args.filter, news.end)
        more = job.size - news.end
        notes = [f"[{news.lost:,} bytes before this are not kept]"] if news.lost else []
        tail = [f"[{more:,} bytes more; call again]"] if more else []
        body = news.text.removesuffix("\n") or ("[no new line fits]" if args.filter else "[nothing new]")
        head = f"{job.id} {state_of(job)}"
        return ToolResult("\n".join([head, *notes, body, *tail]), head)

    async def _filtered(self, job: Job, since: int, pattern: str) -> "_News":
        try:
            return await _lines_of(job, since, _pattern(pattern))
        except TimeoutError:
            text = f"The filter takes longer than {_SECONDS:g} s to look through the output. Use a simpler one."
            raise ToolRefusal("invalid_filter", text) from None


class _News(Struct, frozen=True):
    """New text, the place behind it, and the bytes before it that are gone."""

    text: str
    end: int
    lost: int


def state_of(job: Job) -> str:
    """How a job is doing, and for how long it has run."""
    if job.outcome is None:
        return f"runs, {job.age:.1f} s"
    ending = how_it_ended(job.outcome) or "exit code 0"
    left = left_running(job.outcome)
    return f"has ended: {ending}, {job.age:.1f} s{f'; {left}' if left else ''}"


def _pattern(text: str) -> Any:
    """A pattern whose search can be given a time limit: those of the standard library run for ever when they like."""
    import regex  # noqa: PLC0415 - only for those who filter

    try:
        return regex.compile(text)
    except (regex.error, RecursionError, OverflowError) as problem:
        raise ToolRefusal("invalid_filter", f"The filter is no regular expression: {problem}.") from None


def _note(job: Job, name: str, place: int) -> None:
    job.marks.pop(name, None)
    job.marks[name] = place
    while len(job.marks) > _MOST_FILTERS:
        del job.marks[next(each for each in job.marks if each)]


def _whole(job: Job, since: int) -> _News:
    """The next lines, as many as fit."""
    text, end, lost = "", since, 0
    while (room := MODEL_BYTES - len(text.encode())) >= _LEAST_ROOM and end < job.size:
        piece = job.read(end, room)
        lost += piece.start - end
        data = piece.data if piece.end >= job.size else piece.data[: _cut(piece.data)]
        text += clean(data)
        end = piece.start + len(data)
    return _News(shorten(text), end, lost)


async def _lines_of(job: Job, since: int, wanted: Any) -> _News:
    """The next lines that fit the filter, as many as one result takes; a line that is still being written waits."""
    found: list[str] = []
    end, lost, size, open_line = since, 0, 0, b""
    until = time.monotonic() + _SECONDS
    while end < job.size and size < MODEL_BYTES:
        piece = job.read(end, _PIECE)
        lost += piece.start - end
        *whole, open_line = ((open_line if piece.start == end else b"") + piece.data).split(b"\n")
        end = piece.end
        if end >= job.size and job.is_over and open_line:
            whole, open_line = [*whole, open_line], b""
        fits = await asyncio.to_thread(_fitting, whole, wanted, until)
        found += fits
        size += sum(len(text) + 1 for text in fits)
    return _News("\n".join(found), end - len(open_line), lost)


def _fitting(lines: Sequence[bytes], wanted: Any, until: float) -> list[str]:
    """The lines, as they are shown, that the pattern finds. Raises `TimeoutError`."""
    shown = [clean(line)[:_LONGEST_LINE] for line in lines]
    return [line for line in shown if wanted.search(line, timeout=max(until - time.monotonic(), 0.001))]


def _cut(data: bytes) -> int:
    return data.rfind(b"\n") + 1 or end_of_characters(data) or len(data)
