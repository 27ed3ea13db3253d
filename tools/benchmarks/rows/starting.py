"""Rows 1, 2 and 3: one-shot runs, from `exec` to the first request and to the end."""

import statistics
from collections.abc import Sequence
from functools import partial

from benchmarks.bench import Bench, in_turn
from benchmarks.figures import MS, Pair, Row, against, noted, within
from benchmarks.place import Place
from benchmarks.replies import says


async def run(bench: Bench) -> list[Row]:
    """Start to request, whole run less the model's time, and what comes after the last byte."""
    request, whole, tail = Pair([], []), Pair([], []), Pair([], [])
    product = bench.place.smith("run", "hello")
    floor = bench.place.floor("once", bench.model.url)

    async def once(command: Sequence[str], starts: list[float], walls: list[float], tails: list[float]) -> None:
        bench.model.play([says("Hello.")])
        done = await bench.place.run(command)
        asked = bench.model.seen[0]
        starts.append((asked.arrived - done.began) * MS)
        walls.append((done.ended - done.began - (asked.last_sent - asked.arrived)) * MS)
        tails.append((done.ended - asked.last_sent) * MS)

    await bench.place.run(product)
    await in_turn(
        bench.scale.runs,
        partial(once, product, request.product, whole.product, tail.product),
        partial(once, floor, request.floor, whole.floor, tail.floor),
    )
    return [
        against("1", "run: exec -> first request on the wire", request, 1.35),
        against("2", "run: whole wall less the model's time", whole, 1.35),
        noted(within("2", "run: last byte -> exit", tail.product, 20), _said("the floor", tail.floor)),
    ]


async def telling(bench: Bench) -> list[Row]:
    """`--version` and `--help` beside an interpreter that does nothing."""
    place = bench.place
    version, usage, bare, parser = (list[float]() for _ in range(4))
    works = (
        (place.smith("--version"), version),
        ([place.smith()[0], "-c", "pass"], bare),
        (place.smith("--help"), usage),
        (place.floor("subcommands", "--help"), parser),
    )
    await in_turn(2 * bench.scale.runs, *(partial(_wall, place, command, kept) for command, kept in works))
    note = f"argparse with 22 sub-commands alone: {statistics.median(parser) / statistics.median(bare):.2f} x"
    return [
        against("3", "--version, beside a bare interpreter", Pair(version, bare), 2),
        noted(against("3", "--help, beside a bare interpreter", Pair(usage, bare), 3.5), note),
    ]


async def _wall(place: Place, command: Sequence[str], kept: list[float]) -> None:
    done = await place.run(command)
    kept.append((done.ended - done.began) * MS)


def _said(whose: str, values: list[float]) -> str:
    return f"{whose}: {statistics.median(values):.1f}"
