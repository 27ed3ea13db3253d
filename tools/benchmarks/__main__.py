"""The command: which rows, how many runs, where the JSON goes."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks import table
from benchmarks.bench import QUICK, Bench, Scale
from benchmarks.figures import Row
from benchmarks.model import Model
from benchmarks.place import place
from benchmarks.rows import (
    comparing,
    editing,
    exploring,
    growing,
    lisp,
    reading,
    resident,
    serving,
    starting,
    stepping,
    throughput,
)

Measure = Callable[[Bench], Awaitable[list[Row]]]

MEASURES: tuple[tuple[frozenset[str], Measure], ...] = (
    (frozenset({"1", "2"}), starting.run),
    (frozenset({"3"}), starting.telling),
    (frozenset({"4"}), serving.initialize),
    (frozenset({"5", "6"}), serving.turns),
    (frozenset({"7", "8", "9"}), stepping.steady),
    (frozenset({"8"}), stepping.stored),
    (frozenset({"10"}), throughput.headless),
    (frozenset({"11"}), serving.streaming),
    (frozenset({"12"}), resident.memory),
    (frozenset({"13"}), editing.neovim),
    (frozenset({"15"}), lisp.emacs),
    (frozenset({"16"}), throughput.events),
    (frozenset({"17"}), growing.answers),
    (frozenset({"18"}), growing.lengthening),
    (frozenset({"19"}), reading.streams),
    (frozenset({"20"}), exploring.lines),
    (frozenset({"21"}), exploring.names),
    (frozenset({"22"}), exploring.definitions),
    (frozenset({"23"}), exploring.outlines),
    (frozenset({"24"}), comparing.recall),
)
NOT_MEASURED = {"14": "Neovim's main loop: nothing measures its gaps yet"}
ALL = frozenset().union(*(rows for rows, _ in MEASURES))


def left_out() -> dict[str, str]:
    """Rows that cannot be measured here, and why."""
    found = {"13": editing.missing(), "15": lisp.missing(), "24": comparing.missing()}
    return {**{row: why for row, why in found.items() if why}, **NOT_MEASURED}


async def measured(scale: Scale, wanted: frozenset[str]) -> list[Row]:
    """Measure the rows that are wanted, each printed as soon as it is there."""
    model, rows = Model(), []
    await model.start()
    async with place(model.url) as here:
        for names, measure in MEASURES:
            if not names & wanted:
                continue
            for row in await measure(Bench(scale, model, here)):
                if row.row in wanted:
                    rows.append(row)
                    print(table.line(row), flush=True)
    await model.close()
    return rows


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The words of the command line."""
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("--rows", default="", help="numbers of rows with commas, as in docs/performance.md")
    parser.add_argument("--runs", type=int, help="processes from start to end for each figure")
    parser.add_argument("--quick", action="store_true", help="see that everything works; the figures mean nothing")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where the result goes")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, write."""
    words = parsed(arguments)
    wanted = frozenset(words.rows.split(",")) if words.rows else ALL
    if unknown := wanted - ALL:
        print(
            f"not measured: {', '.join(sorted(unknown))}; there are {', '.join(sorted(ALL, key=int))}", file=sys.stderr
        )
        return 2
    scale = QUICK if words.quick else Scale()
    if words.runs:
        scale = msgspec.structs.replace(scale, runs=words.runs)
    print(table.header(), flush=True)
    rows = asyncio.run(measured(scale, wanted - left_out().keys()))
    for name, why in left_out().items():
        print(f"{name:<5}not measured: {why}")
    table.write(words.json, scale, rows, left_out())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
