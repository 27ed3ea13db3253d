"""What every row is handed: how much to measure, the model server, the place to run in."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from benchmarks.model import Model
from benchmarks.place import Place


class Scale(Struct, frozen=True):
    """How much is measured.

    `runs` are processes from start to end, `turns` prompts of one server, `steps` calls of one
    prompt of which the first and the last `window` behind `warm` are compared, `grown` the
    conversations of a large store, `read` and `long` bytes of a stream, `files` those of the generated
    tree, `compared` how many of each language are.
    """

    runs: int = 15
    turns: int = 120
    steps: int = 210
    warm: int = 9
    window: int = 20
    tokens: int = 20_000
    shown: int = 5_000
    stored: int = 10_000
    events: int = 20_000
    grown: int = 10_000
    read: int = 100_000_000
    long: int = 1_000_000_000
    files: int = 100_000
    sources: int = 5_000
    outline: int = 10_000
    compared: int = 20


QUICK = Scale(
    runs=1,
    turns=2,
    steps=8,
    warm=1,
    window=3,
    tokens=200,
    shown=100,
    stored=200,
    events=40,
    grown=20,
    read=1_000_000,
    long=2_000_000,
    files=300,
    sources=20,
    outline=300,
    compared=2,
)
"""Enough to see that everything works; the figures mean nothing."""

REST = 0.03
"""Seconds in which what is left of one measurement may end before the next one begins."""

FEWER = 3
"""Rows whose runs take long make one in so many."""


class Bench(Struct, frozen=True):
    """The parts of one benchmark."""

    scale: Scale
    model: Model
    place: Place

    @property
    def few(self) -> int:
        """The number of long runs."""
        return max(1, self.scale.runs // FEWER)


async def in_turn(times: int, *works: Callable[[], Awaitable[None]]) -> None:
    """Do all of `works` one after the other, `times` times, with a moment of rest between two."""
    for _ in range(times):
        for work in works:
            await work()
            await asyncio.sleep(REST)
